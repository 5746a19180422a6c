package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fettle/report/accept"
	"fettle/report/onhub"
)

// Acceptances reads what is accepted: from a file, or from the usual ones.
// Those of the usual ones that cannot be read are warned of and left out.
func (a *App) Acceptances(file string) (*accept.List, error) {
	var l *accept.List
	var err error
	if file != "" {
		if _, err := os.Stat(file); err != nil {
			return nil, Unread(err, "a file of accepted findings (--accepted)")
		}
		l, err = accept.Load(file)
	} else {
		l, err = accept.Default()
	}
	if err != nil {
		return nil, Usagef("%w", err)
	}
	for _, err := range l.Skipped {
		a.Warn(fmt.Sprintf("%v; findings accepted there are shown", err))
	}
	return l, nil
}

// HubAcceptances is what operators accept on the hub of this host's agent. Whoever may not
// read the agent's folder is shown no labels; what cannot be read otherwise is warned of.
func (a *App) HubAcceptances(dir string) *onhub.List {
	l, err := onhub.Read(cmp.Or(dir, onhub.Dir))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		a.Warn(fmt.Sprintf("what is accepted on the hub is not shown: %v", err))
	}
	return l
}
