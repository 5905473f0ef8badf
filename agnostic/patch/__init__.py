"""A patch series from the fixes of a repository: its base, its split into commits, their words, the files."""
