package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

// site is a place where an operator can change a function.
type site struct {
	operator string
	fun      string
	at, end  int // bytes of the file
	text     string
}

// finder collects the sites of one file.
type finder struct {
	fset   *token.FileSet
	source string
	info   *types.Info
	fun    *ast.FuncDecl
	sites  []site
}

// sitesOf lists the places in the file's functions where an operator applies, in the order of the
// file. Functions that call recover are left out: in a woven copy, which runs one call deeper, it has
// no effect.
func sitesOf(fset *token.FileSet, file *ast.File, source []byte, info *types.Info) []site {
	f := finder{fset: fset, source: string(source), info: info}
	for _, d := range file.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Body == nil || mutants.NameOf(fun) == "" || strings.Contains(f.of(fun.Body), "recover()") {
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

// add notes that the operator puts the text in the place of what stands from one node to another.
func (f *finder) add(operator string, from, to ast.Node, text string) {
	s := site{operator, mutants.NameOf(f.fun), f.offset(from.Pos()), f.offset(to.End()), text}
	if operator == "condition" && slices.ContainsFunc(f.sites, func(o site) bool { return o.operator == operator && o.at == s.at && o.end == s.end }) {
		return // the condition of an if that is a comparison
	}
	f.sites = append(f.sites, s)
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		for _, e := range n.List {
			f.negated(e)
		}
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.negated(n.Cond)
		f.swallowedCheck(n)
	case *ast.ReturnStmt:
		f.swallowedReturn(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.constant(n)
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.add("constant", n, n, other)
		}
	case *ast.SelectorExpr:
		units := map[string]string{"time.Millisecond": "time.Second", "time.Second": "time.Millisecond", "time.Minute": "time.Second", "time.Hour": "time.Minute"}
		if other := units[f.of(n)]; other != "" {
			f.add("constant", n, n, other)
		}
	case *ast.CallExpr:
		f.arguments(n)
		return !f.wording(n)
	}
	return true
}

// wording reports a call that logs, or makes the text of an error: its words are no behaviour.
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

func (f *finder) negated(condition ast.Expr) {
	if tv := f.info.Types[condition]; tv.IsValue() && tv.Value == nil && isBool(tv.Type) {
		f.add("condition", condition, condition, "!("+f.of(condition)+")")
	}
}

// swapped are the operators' counterparts, by the name of what is changed.
var swapped = map[token.Token]struct {
	operator string
	by       token.Token
}{
	token.LSS: {"boundary", token.LEQ}, token.LEQ: {"boundary", token.LSS}, token.GTR: {"boundary", token.GEQ}, token.GEQ: {"boundary", token.GTR},
	token.EQL: {"condition", token.NEQ}, token.NEQ: {"condition", token.EQL}, token.LAND: {"logic", token.LOR}, token.LOR: {"logic", token.LAND},
	token.ADD: {"arithmetic", token.SUB}, token.SUB: {"arithmetic", token.ADD}, token.MUL: {"arithmetic", token.QUO}, token.QUO: {"arithmetic", token.MUL},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if change, ok := swapped[n.Op]; ok {
		f.add(change.operator, n, n, f.of(n.X)+" "+change.by.String()+" "+f.of(n.Y))
	}
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

// arguments swaps adjacent arguments of one type, and drops contexts.
func (f *finder) arguments(call *ast.CallExpr) {
	commutes := f.info.Types[call.Fun].IsBuiltin() && (f.of(call.Fun) == "max" || f.of(call.Fun) == "min")
	if f.wording(call) || commutes || f.info.Types[call.Fun].IsType() {
		return
	}
	for i, a := range call.Args {
		t := f.info.TypeOf(a)
		if t == nil {
			continue
		}
		if _, named := a.(*ast.Ident); named && t.String() == "context.Context" {
			f.add("context", a, a, "context.Background()")
		}
		if i == 0 || call.Ellipsis != token.NoPos && i == len(call.Args)-1 {
			continue
		}
		b := call.Args[i-1]
		if types.Identical(types.Default(t), types.Default(f.info.TypeOf(b))) && f.of(a) != f.of(b) {
			f.add("arguments", b, a, f.of(a)+", "+f.of(b))
		}
	}
}

var errorType = types.Universe.Lookup("error").Type()

// swallowedCheck lets go on what a check of an error ends.
func (f *finder) swallowedCheck(n *ast.IfStmt) {
	compared, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || compared.Op != token.NEQ || n.Else != nil || f.info.TypeOf(compared.X) == nil || !types.Identical(f.info.TypeOf(compared.X), errorType) || len(n.Body.List) == 0 {
		return
	}
	if _, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt); ok {
		f.add("error", n.Body, n.Body, "{}")
	}
}

func (f *finder) swallowedReturn(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	if t := f.info.TypeOf(last); t != nil && types.Identical(t, errorType) {
		f.add("error", last, last, "nil")
	}
}

// statements drops each of a block's statements that can be dropped alone, and locks with their unlocks.
func (f *finder) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.wording(call) {
				continue
			}
			if held, ok := strings.CutSuffix(f.of(s), "Lock()"); ok && !strings.HasSuffix(held, "Un") {
				f.lock(strings.TrimSuffix(held, "R"), s, list[i+1:])
				continue
			}
			if strings.HasSuffix(f.of(s), "Unlock()") {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.DeferStmt:
			if strings.HasSuffix(f.of(s), "Unlock()") {
				continue
			}
		case *ast.IncDecStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		default:
			continue
		}
		f.add("statement", s, s, "")
	}
}

// lock drops a lock together with its unlock in the same block; dropped alone it would only panic.
func (f *finder) lock(held string, from ast.Stmt, rest []ast.Stmt) {
	for _, s := range rest {
		text := strings.TrimPrefix(f.of(s), "defer ")
		if text == held+"Unlock()" || text == held+"RUnlock()" {
			f.add("lock", from, s, f.source[f.offset(from.End()):f.offset(s.Pos())])
			return
		}
	}
}

// returnedEarly returns zero values before a statement of the function.
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
			f.sites = append(f.sites, site{"early return", mutants.NameOf(f.fun), at, at, "if true { return " + strings.Join(zeros, ", ") + " }; "})
		}
	}
}
