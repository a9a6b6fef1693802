raise ImportError("renamed: this package is halfmask.profiles now")
