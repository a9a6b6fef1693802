"""The built-in mechanisms, one file each, with all facts about its law. Every file of this folder is loaded."""
