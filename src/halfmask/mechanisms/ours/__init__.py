"""The built-in mechanisms, one file each. Every file of this folder is loaded."""
