package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

type site struct {
	operator string
	fun      string
	at, end  int // byte offsets in the file
	text     string
}

type finder struct {
	fset   *token.FileSet
	source string
	info   *types.Info
	fun    *ast.FuncDecl
	fails  map[*ast.ReturnStmt]bool // return statements that return an error other than nil
	sites  []site
}

// sitesOf returns the places where an operator applies in the functions of a file, in the order of the file.
// It omits main, because tests build the program without mutants. It also omits functions that call recover.
// The original function calls a changed copy of itself. The copy is then not the deferred function, so
// recover has no effect in the copy.
func sitesOf(fset *token.FileSet, file *ast.File, source []byte, info *types.Info) []site {
	f := finder{fset: fset, source: string(source), info: info, fails: map[*ast.ReturnStmt]bool{}}
	for _, d := range file.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Body == nil || mutants.NameOf(fun) == "" || mutants.NameOf(fun) == "main" ||
			strings.Contains(f.of(fun.Body), "recover()") {
			continue
		}
		f.fun = fun
		f.returnedEarly()
		ast.Inspect(fun.Body, f.visit)
	}
	return f.sites
}

func (f *finder) offset(at token.Pos) int { return f.fset.Position(at).Offset }

func (f *finder) of(n ast.Node) string { return f.source[f.offset(n.Pos()):f.offset(n.End())] }

// add records a place where an operator can replace the source between two nodes with a text. It ignores a
// repeated place, because the condition of an if is visited twice.
func (f *finder) add(operator string, from, to ast.Node, text string) {
	s := site{operator, mutants.NameOf(f.fun), f.offset(from.Pos()), f.offset(to.End()), text}
	if !slices.Contains(f.sites, s) {
		f.sites = append(f.sites, s)
	}
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		for _, e := range n.List {
			f.decided(e)
		}
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.decided(n.Cond)
		f.check(n)
	case *ast.ReturnStmt:
		f.swallowedReturn(n)
		if f.fails[n] {
			f.besideError(n)
			return false
		}
		for _, e := range n.Results {
			f.zero(e)
		}
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN {
			for _, e := range n.Rhs {
				f.zero(e)
			}
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.constant(n)
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.add("constant", n, n, other)
		}
	case *ast.SelectorExpr:
		units := map[string]string{"time.Millisecond": "time.Second", "time.Second": "time.Millisecond",
			"time.Minute": "time.Second", "time.Hour": "time.Minute"}
		if other := units[f.of(n)]; other != "" {
			f.add("constant", n, n, other)
		}
	case *ast.CallExpr:
		return f.call(n)
	}
	return true
}

// call visits the arguments of a call. It does not visit texts for people, or sizes that affect only the use
// of memory.
func (f *finder) call(n *ast.CallExpr) bool {
	f.arguments(n)
	if length, hinted := f.capacity(n); hinted {
		for _, a := range length {
			ast.Inspect(a, f.visit)
		}
		return false
	}
	if f.wording(n) {
		return false
	}
	if at, refuses := f.format(n); at >= 0 {
		for i, e := range append([]ast.Expr{n.Fun}, n.Args...) {
			if i-1 != at && !(refuses && (i > at || f.worded(e))) {
				ast.Inspect(e, f.visit)
			}
		}
		return false
	}
	return true
}

// format returns the index of a call's format string, or -1. A format string gets no mutant, because go test
// runs go vet, which reports wrong verbs. The result refuses is true if the call creates an error, whose
// words are not part of the product's behaviour.
func (f *finder) format(call *ast.CallExpr) (at int, refuses bool) {
	signature, ok := f.info.TypeOf(call.Fun).(*types.Signature)
	if !ok || !signature.Variadic() || signature.Params().Len() < 2 {
		return -1, false
	}
	at = signature.Params().Len() - 2
	refuses = isError(f.info.TypeOf(call))
	if v := f.info.Types[call.Args[at]].Value; v == nil || v.Kind() != constant.String || !refuses &&
		!strings.Contains(constant.StringVal(v), "%") {
		return -1, false
	}
	return at, refuses
}

// worded reports whether an argument contains text for people, such as advice.
func (f *finder) worded(e ast.Expr) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		is = is || ok && l.Kind == token.STRING && (strings.Contains(l.Value, " ") || l.Value == `""`)
		return true
	})
	return is
}

// capacity reports whether a call of make has a size that affects only the use of memory. The size of a
// channel also affects the behaviour, and does not count. The result length is the length argument of a
// slice, which can get mutants.
func (f *finder) capacity(call *ast.CallExpr) (length []ast.Expr, hinted bool) {
	if !f.info.Types[call.Fun].IsBuiltin() || f.of(call.Fun) != "make" {
		return nil, false
	}
	switch f.info.TypeOf(call.Args[0]).Underlying().(type) {
	case *types.Map:
		return nil, true
	case *types.Slice:
		return call.Args[1:2], len(call.Args) == 3
	}
	return nil, false
}

// symmetric lists functions whose result does not depend on the order of their arguments. For errors.Join the
// order changes only the order of the lines.
var symmetric = []string{"max", "min", "errors.Join", "bytes.Equal", "slices.Equal", "maps.Equal",
	"strings.ContainsAny", "strings.EqualFold", "subtle.ConstantTimeCompare",
	"m.registry.MustRegister"}

// option matches the types of functional options, which a call accepts in any order.
var option = regexp.MustCompile(`\.\w*Option$`)

// wording reports whether a call writes to a log or creates an error. The words in such a call are not part
// of the product's behaviour.
func (f *finder) wording(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	used := f.info.Uses[selector.Sel]
	if used == nil || used.Pkg() == nil {
		return false
	}
	switch used.Pkg().Path() {
	case "log", "log/slog":
		return true
	case "errors":
		return used.Name() == "New"
	case "fmt":
		return used.Name() == "Errorf"
	}
	return false
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// negated adds a mutant that negates a condition, unless the condition is a constant. It reports whether it
// added a mutant.
func (f *finder) negated(condition ast.Expr) bool {
	tv := f.info.Types[condition]
	variable := tv.IsValue() && tv.Value == nil && isBool(tv.Type)
	if variable {
		f.add("condition", condition, condition, "!("+f.of(condition)+")")
	}
	return variable
}

// decided adds three mutants for the condition of a branch: the negated condition, true, and false. The value
// false removes an early return.
func (f *finder) decided(condition ast.Expr) {
	if f.negated(condition) {
		f.add("condition", condition, condition, "true")
		f.add("condition", condition, condition, "false")
	}
}

var swapped = map[token.Token]struct {
	operator string
	by       token.Token
}{
	token.LSS: {"boundary", token.LEQ}, token.LEQ: {"boundary", token.LSS},
	token.GTR: {"boundary", token.GEQ}, token.GEQ: {"boundary", token.GTR},
	token.LAND: {"logic", token.LOR}, token.LOR: {"logic", token.LAND},
	token.ADD: {"arithmetic", token.SUB}, token.SUB: {"arithmetic", token.ADD},
	token.MUL: {"arithmetic", token.QUO}, token.QUO: {"arithmetic", token.MUL},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if n.Op == token.EQL || n.Op == token.NEQ {
		f.negated(n)
	}
	if change, ok := swapped[n.Op]; ok {
		f.add(change.operator, n, n, f.of(n.X)+" "+change.by.String()+" "+f.of(n.Y))
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		f.add("logic", n, n, f.of(n.X))
		f.add("logic", n, n, f.of(n.Y))
	}
}

// zero adds a mutant that replaces a returned or assigned value with the zero value of its type. It omits
// types whose zero value is not a constant, such as structs. It also omits errors and constants, because
// other operators change them.
func (f *finder) zero(e ast.Expr) {
	tv := f.info.Types[e]
	if !tv.IsValue() || tv.IsNil() || tv.Value != nil || isError(tv.Type) {
		return
	}
	text := "nil"
	switch t := tv.Type.Underlying().(type) {
	case *types.Basic:
		switch {
		case t.Info()&types.IsBoolean != 0:
			text = "false"
		case t.Info()&types.IsString != 0:
			text = `""`
		case t.Info()&types.IsNumeric != 0:
			text = "0"
		}
	case *types.Struct, *types.Array, *types.Tuple:
		return
	}
	f.add("value", e, e, text)
}

func (f *finder) constant(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			f.add("constant", n, n, strconv.FormatInt(v+1, 10))
			if v > 0 {
				f.add("constant", n, n, strconv.FormatInt(v-1, 10))
			}
		}
	case token.STRING:
		if other := `""`; n.Value != other && n.Value != "``" {
			f.add("constant", n, n, other)
		} else {
			f.add("constant", n, n, `"x"`)
		}
	}
}

// arguments adds mutants that swap two adjacent arguments of the same type. It omits functional options and
// the words of errors. It also omits calls whose result does not depend on the order of the arguments.
func (f *finder) arguments(call *ast.CallExpr) {
	if _, hinted := f.capacity(call); hinted || f.wording(call) || f.info.Types[call.Fun].IsType() ||
		slices.Contains(symmetric, f.of(call.Fun)) {
		return
	}
	format, refuses := f.format(call)
	for i, a := range call.Args {
		t := f.info.TypeOf(a)
		if t == nil || refuses && i >= format || option.MatchString(t.String()) {
			continue
		}
		if i == 0 || call.Ellipsis != token.NoPos && i == len(call.Args)-1 {
			continue
		}
		b := call.Args[i-1]
		if types.Identical(types.Default(t), types.Default(f.info.TypeOf(b))) && f.of(a) != f.of(b) &&
			(format < 0 || i != format && i-1 != format) && !f.linted(call, a) && !f.linted(call, b) {
			f.add("arguments", b, a, f.of(a)+", "+f.of(b))
		}
	}
}

// linted reports whether the call is errors.Is and the argument is a selector, as for an error of another
// package. The linter staticcheck (SA1032) already reports swapped arguments of such a call.
func (f *finder) linted(call *ast.CallExpr, a ast.Expr) bool {
	_, selected := a.(*ast.SelectorExpr)
	return selected && f.of(call.Fun) == "errors.Is"
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool {
	return t != nil && types.Implements(t, errorType.Underlying().(*types.Interface))
}

func (f *finder) check(n *ast.IfStmt) {
	compared, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || compared.Op != token.NEQ || f.info.TypeOf(compared.X) == nil ||
		!types.Identical(f.info.TypeOf(compared.X), errorType) || len(n.Body.List) == 0 {
		return
	}
	if last, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt); ok {
		f.fails[last] = f.returnsError(last)
		if n.Else == nil {
			f.add("error", n.Body, n.Body, "{}")
		}
	}
}

// besideError visits the values that a statement returns together with an error. It omits names and literals,
// because callers ignore them after an error.
func (f *finder) besideError(n *ast.ReturnStmt) {
	for _, e := range n.Results {
		_, name := e.(*ast.Ident)
		_, literal := e.(*ast.BasicLit)
		if !name && !literal {
			ast.Inspect(e, f.visit)
		}
	}
}

func (f *finder) returnsError(n *ast.ReturnStmt) bool {
	return len(n.Results) > 0 && isError(f.info.TypeOf(n.Results[len(n.Results)-1]))
}

func (f *finder) swallowedReturn(n *ast.ReturnStmt) {
	if !f.returnsError(n) {
		return
	}
	last := n.Results[len(n.Results)-1]
	f.add("error", last, last, "nil")
	if call, ok := last.(*ast.CallExpr); ok {
		_, refuses := f.format(call)
		f.fails[n] = f.fails[n] || refuses || f.wording(call)
	}
}

// kept matches statements that get no mutant. Locks and unlocks get none, because only the race detector
// notices a missing one reliably. Calls of testing's Helper get none, because Helper changes only the line
// number of a failure.
var kept = regexp.MustCompile(`\.(R?(L|Unl)ock|Helper)\(\)$`)

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		if kept.MatchString(f.of(s)) {
			continue
		}
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.wording(call) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.DeferStmt, *ast.IncDecStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		default:
			continue
		}
		f.add("statement", s, s, "")
	}
}

func (f *finder) returnedEarly() {
	var zeros []string
	if f.fun.Type.Results != nil {
		for _, r := range f.fun.Type.Results.List {
			for range max(1, len(r.Names)) {
				zeros = append(zeros, fmt.Sprintf("*new(%s)", f.of(r.Type)))
			}
		}
	}
	for _, s := range f.fun.Body.List {
		if _, last := s.(*ast.ReturnStmt); !last {
			at := f.offset(s.Pos())
			f.sites = append(f.sites, site{"early return", mutants.NameOf(f.fun), at, at,
				"if true { return " + strings.Join(zeros, ", ") + " }; "})
		}
	}
}
