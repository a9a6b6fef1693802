"""Tests; a package, so that modules of equal name in two folders do not clash."""
