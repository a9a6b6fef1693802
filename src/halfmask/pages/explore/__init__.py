"""The live page of a folder's results in the browser."""
