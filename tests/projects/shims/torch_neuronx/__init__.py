"""Empty. Hugging Face libraries take a device named neuron for one only if a module of this name can be imported.

It is on the path of the tests that need it and is never installed, where it would shadow the real package.
"""
