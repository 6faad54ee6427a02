package expression

import "github.com/expr-lang/expr/ast"

func (e *evaluation) iterate(n *ast.BuiltinNode) (any, error) {
	v, err := e.eval(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, mismatch(n.Name, "a list", v)
	}
	var predicate ast.Node
	if len(n.Arguments) > 1 {
		predicate = n.Arguments[1]
	}
	switch n.Name {
	case "map":
		return e.mapped(list, predicate)
	case "sum":
		return e.sum(list, predicate)
	}
	return e.search(n.Name, list, predicate)
}

// each evaluates the predicate once for every element, and calls visit with the result. In the predicate, #
// is the current element. Without a predicate, the result is the element. each stops when visit returns true
// or an error.
func (e *evaluation) each(list []any, predicate ast.Node,
	visit func(i int, v any) (stop bool, err error),
) error {
	e.element = append(e.element, item{})
	top := len(e.element) - 1
	defer func() { e.element = e.element[:top] }()
	for i, element := range list {
		e.element[top] = item{element, i}
		v := element
		var err error
		if predicate != nil {
			v, err = e.eval(predicate)
		} else {
			err = e.meter.charge(1)
		}
		if err != nil {
			return err
		}
		if stop, err := visit(i, v); stop || err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) mapped(list []any, predicate ast.Node) (any, error) {
	result := make([]any, 0, len(list))
	err := e.each(list, predicate, func(_ int, v any) (bool, error) {
		result = append(result, v)
		return false, nil
	})
	return result, err
}

func (e *evaluation) sum(list []any, predicate ast.Node) (any, error) {
	var total any = int64(0)
	err := e.each(list, predicate, func(_ int, v any) (bool, error) {
		if _, ok := decimal(v); !ok {
			return true, mismatch("sum", "numbers", v)
		}
		var err error
		total, err = arithmetic(e, "+", total, v)
		return err != nil, err
	})
	return total, err
}

func (e *evaluation) search(name string, list []any, predicate ast.Node) (any, error) {
	found := 0
	result := []any{}
	err := e.each(list, predicate, func(i int, v any) (bool, error) {
		yes, ok := v.(bool)
		if !ok {
			return true, mismatch("the condition of "+name, "true or false", v)
		}
		if yes {
			found++
			if name == "filter" {
				result = append(result, list[i])
			}
		}
		switch name {
		case "any":
			return yes, nil
		case "all":
			return !yes, nil
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	switch name {
	case "filter":
		return result, nil
	case "count":
		return int64(found), nil
	case "all":
		return found == len(list), nil
	}
	return found > 0, nil // name is "any"
}
