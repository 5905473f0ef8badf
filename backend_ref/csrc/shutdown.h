// The end of the process: nothing may run on while the interpreter is taken apart.
#pragma once

namespace neuron {

// Waits for all streams and for the autograd threads of the devices. Called before the interpreter is finalized.
//
// An autograd thread wakes the main thread before it drops the last references of a backward pass. If one of those
// belongs to a Python object, the thread then asks for the GIL; once finalization has begun, Python answers by ending
// the thread, which unwinds it through a destructor, and the process aborts ("terminate called without an active
// exception"). A last, empty backward pass through each thread makes sure that they have nothing left to drop.
void settle();

}  // namespace neuron
