package rule

// eachExpr calls do for every expression of the rule.
func (r *Rule) eachExpr(do func(*Expr) error) error {
	var err error
	expr := func(es ...*Expr) {
		for _, e := range es {
			if e != nil && err == nil {
				err = do(e)
			}
		}
	}
	text := func(ts ...*Text) {
		for _, t := range ts {
			if t == nil {
				continue
			}
			for _, p := range t.Parts {
				expr(p.Expr)
			}
		}
	}
	for _, l := range r.Lets {
		expr(l.Expr)
	}
	for _, c := range r.Applies {
		expr(c.When)
		text(c.Otherwise)
	}
	expr(r.Each)
	text(r.Subject, r.None, r.Clear)
	for _, f := range r.Findings {
		expr(f.When)
		text(f.Subject, f.Summary, f.Detail, f.ByHand, f.Lost)
		for _, e := range f.Evidence {
			text(e.Source, e.Value)
		}
	}
	if m := r.Remedy; m != nil {
		text(m.Title)
		text(m.Notes...)
		for _, no := range m.Refuse {
			expr(no.When)
			text(no.Why)
		}
		for _, s := range m.Steps {
			expr(s.When)
			for _, t := range s.Args {
				text(t)
			}
			for _, w := range s.Words {
				text(w...)
			}
		}
	}
	return err
}
