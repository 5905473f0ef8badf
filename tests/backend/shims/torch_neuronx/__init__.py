"""Empty stand-in, so that accelerate and transformers detect a device called neuron. For tests only; never
install it."""
