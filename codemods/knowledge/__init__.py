"""What several rules know: the map of the API, the device at a place, guards, slots of literals, profiles."""
