// The end of the process: nothing may run on while the interpreter is taken apart.
#pragma once

namespace neuron {

// Waits for all streams and for the autograd threads of the devices. Called before the interpreter is finalized.
//
// An autograd thread wakes the main thread before it drops its reference to the backward pass. If that is the last one,
// the pass's saved thread state goes with it, whose Python objects need the GIL: the thread finds the interpreter still
// initialized and waits for the lock. If finalization begins meanwhile, Python answers with pthread_exit(), which
// unwinds the thread through a destructor, and the process aborts ("terminate called without an active exception").
// It takes two unlucky schedules in a row; a test makes them certain (tests/backend/late_thread.cpp). A last, empty
// backward pass through each thread, before finalization, makes sure that they have nothing left to drop.
void settle();

}  // namespace neuron
