package why

import (
	"errors"
	"fmt"
	"strings"

	"fettle/engine/message"
	"fettle/engine/trap"
	"fettle/internal/lazy"
)

var idForm = lazy.Regexp(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate tells everything that a complete article lacks: what recognise and
// explain need of it. Article has found out already whether it can be read.
func Validate(a *trap.Article) error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(idForm().MatchString(a.ID), "id %q: it is lower-case words joined by dashes", a.ID)
	need(a.Title != "" && len(a.Title) <= 100, "title: one line of at most 100 characters is needed")
	need(len(a.Symptoms)+len(a.Messages) >= 3 && len(a.Symptoms) > 0,
		"symptoms: at least one, and three with the messages, as people see and paste them")
	for _, m := range a.Messages {
		errs = append(errs, message.Check(m))
	}
	need(strings.TrimSpace(a.Since) != "", "since: from which version on the trap holds")
	need(len(a.Refs) > 0, "refs: at least one")
	need(strings.Count("\n"+a.Body, "\n# ") >= 2, "the body needs at least two sections, each headed by a line \"# …\"")
	seen := map[string]bool{}
	for _, s := range a.Symptoms {
		need(strings.TrimSpace(s) != "", "symptoms: one is empty")
		need(!seen[s], "symptoms: %q is there twice", s)
		seen[s] = true
	}
	return errors.Join(errs...)
}
