package source

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// fieldsOfFile lists the fields that a block has from its file, because they hold for all steps of the file.
var fieldsOfFile = []string{"agents", "grace", "tellAfter", "notify"}

// withBlocks returns a mapping with steps, in which the steps of each block have been replaced as those of the file.
func withBlocks(root *value, r *report) *value {
	root = withMembers(root, r)
	steps := root.field("steps")
	if steps == nil || steps.value.shape != isMap {
		return root
	}
	all := *steps.value
	all.fields = slices.Clone(all.fields)
	for i := range all.fields {
		if all.fields[i].value.get("steps") != nil {
			all.fields[i].value = withBlocks(all.fields[i].value, r)
		}
	}
	return root.with("steps", &all)
}

// block compiles the steps within a step to a definition of their own (P55, a block is a child order of the same file).
func (s step) block() {
	inner := &builder{report: s.report, opts: s.opts, root: s.fileOf(), outer: s.builder}
	def := inner.definition()
	s.Each.Workflow = def.Name
	if s.tooDeep(s.value.field("steps").at, def) {
		return
	}
	s.Each.Child = def
}

// fileOf returns a block as if it were a file.
func (s step) fileOf() *value {
	name := core.BlockName(s.def.Name, s.key)
	root := &value{at: s.at, shape: isMap, fields: []field{
		{s.at, "workflow", &value{at: s.at, shape: isText, text: name}},
	}}
	for _, key := range []string{"steps", "output"} {
		if own := s.value.field(key); own != nil {
			root.fields = append(root.fields, *own)
		}
	}
	for _, key := range fieldsOfFile {
		if shared := s.root.field(key); shared != nil {
			root.fields = append(root.fields, *shared)
		}
	}
	return root
}

// outside returns the names of the steps around the block, which the steps of the block cannot read.
func (b *builder) outside() (names []string) {
	for o := b.outer; o != nil; o = o.outer {
		for _, f := range o.steps {
			names = append(names, f.key)
		}
	}
	return names
}

// sealed completes the definitions of a file: those of its blocks first, because the others contain their hashes.
func sealed(d *core.Definition) error {
	for i := range d.Steps {
		e := d.Steps[i].Each
		if e == nil || !e.Block() {
			continue
		}
		if err := sealed(e.Child); err != nil {
			return err
		}
		e.Definition = e.Child.Hash
	}
	return workflow.Seal(d)
}
