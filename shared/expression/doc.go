// Package expression evaluates the expressions of a workflow: the templates of its inputs and output, and its
// conditions. It implements [core.Expressions].
//
// The language is that of github.com/expr-lang/expr. The package uses the parser of that library, and
// evaluates the syntax tree itself. The library's own evaluation would not keep three promises:
//
//   - The same arguments give the same bytes (P12, effects are emitted again). The language has no clock and
//     no random numbers, and no result depends on the order of a map.
//   - The work of an evaluation is limited. Every operation is charged for the data that it uses. A hostile
//     expression or order therefore ends in an error, and does not affect other orders.
//   - Numbers keep their digits, and the text of an error contains no data of the order.
//
// An expression can read `order`, `orderId`, `run`, `steps.<name>.output`, and further names that its Scope
// allows. In the name of a step, underscores replace dashes. An absent field is null. Reading a member of
// null is an error, except with `?.`. The operator `??` gives a default.
package expression
