// Package expression evaluates the small expressions of a workflow: the templates of its inputs and
// output, and its conditions. It implements [core.Expressions].
//
// The language is that of github.com/expr-lang/expr, whose parser and checker are used as they are.
// This package has its own evaluation, because a general virtual machine does not keep three promises:
//
//   - the same arguments give the same bytes (P12, effects are emitted again): there is no clock, no
//     randomness, and nothing depends on the order of a map;
//   - the work is bounded by counting it: every operation is charged for the data that it touches, so that a
//     hostile expression, or a hostile order, ends in an error and affects no other one;
//   - numbers keep their digits, and the text of a failure has no data of the order.
//
// An expression sees `order`, `orderId`, `run` and `steps.<name>.output`, where dashes in the name of a step
// are written as underscores. An absent field is null. Reading a member of null is an error, except with
// `?.`. The operator `??` gives a default.
package expression
