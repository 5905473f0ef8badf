"""One file per command of `torch-agnostic`; each has the click command as `command`."""
