// Package simulate runs a workflow and injects faults. The Scheduler, the Supervisor and the agents' worker
// run their real code. The store, the queues, the clocks, the alerts and the remote services are simulated.
//
// Time is virtual, and one heap holds all events. Each handler runs in a coroutine that yields before and
// after every call of the store, a queue or another port. Therefore a crash, a delay or a duplicate can occur
// between any two calls. A [Chooser] makes every choice of a run. It draws with a seed, repeats recorded
// choices, or reads the bytes of a fuzzer. Two runs with the same choices have the same events in the same
// sequence.
//
// A run has two phases. In the first phase faults occur, and the simulator checks the invariants after every
// event. In the second phase no fault occurs, and every order must end within a time limit. A simulated
// operator handles the orders that stop in Error.
//
// The checks judge a run by its effects: the services' books, the messages that people and services get, and the
// stored documents with their history. They predict no decision. The page docs/reference/simulator.md lists the
// invariants by number.
package simulate
