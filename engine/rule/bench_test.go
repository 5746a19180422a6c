package rule

import (
	"os"
	"testing"

	"fettle/engine/rule/cel"
)

// BenchmarkParse is what one rule of an admin's costs at each start.
func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("../../traps/rules/fstab-without-nofail/rule.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, ms := Parse("r.yaml", text, false); r == nil {
			b.Fatal(ms)
		}
	}
}

// BenchmarkExpr is the part of it that is one expression.
func BenchmarkExpr(b *testing.B) {
	const src = `fstab.filter(e, e.type in ["nfs", "nfs4"] && e.options.exists(o, ` +
		`o == "soft") && !e.options.exists(o, o == "ro")).map(e, e.mount)`
	env := environment().With("fstab", cel.TypeFor[[]*fstabFact]())
	b.ReportAllocs()
	for b.Loop() {
		tree, err := cel.Parse(src)
		if err != nil {
			b.Fatal(err)
		}
		if _, ms := env.Check(tree); len(ms) > 0 {
			b.Fatal(ms)
		}
	}
}
