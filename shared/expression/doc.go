// Package expression evaluates the templates and the conditions of a workflow. It implements
// [core.Expressions].
//
// The syntax comes from github.com/expr-lang/expr. The package uses the parser of that library, and evaluates
// the syntax tree itself. The library's own evaluation would not keep these promises:
//
//   - Equal arguments give equal bytes (P12, effects are emitted again). The language has no clock and no
//     random numbers, and no result depends on the order of a map.
//   - The work of an evaluation is limited. A hostile expression or order ends in an error, and does not
//     affect other orders.
//   - Numbers keep their digits.
//   - The text of an error contains no data of the order.
//
// An expression can read `order`, `orderId`, `run` and `steps.<name>.output`. Its Scope may allow further
// names. In the name of a step, underscores replace dashes. An absent field is null. Reading a member of
// null is an error, except with `?.`. The operator `??` gives a default.
package expression
