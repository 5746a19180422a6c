package app

import (
	"fmt"
	"os"

	"fettle/report/accept"
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
