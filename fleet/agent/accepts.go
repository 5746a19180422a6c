package agent

import (
	"encoding/json"
	"os"
	"path/filepath"

	"fettle/fleet/hub/message"
	"fettle/internal/files"
	"fettle/report/onhub"
)

// What is accepted on the hub is kept for fettle check, which shows it as labels. It
// changes nothing on this host: only root's fettle.yaml lets it count.

// hasAccepts names the list that is kept in a folder.
func hasAccepts(dir string) string {
	l, err := onhub.Read(dir)
	if err != nil || l.Digest == "" {
		return message.NoAccepts
	}
	return l.Digest
}

// keepAccepts keeps the list that the hub sent.
func (a *Agent) keepAccepts(l *onhub.List) {
	file := filepath.Join(a.Dir, onhub.File)
	var err error
	if len(l.Entries) == 0 {
		if err = os.Remove(file); os.IsNotExist(err) {
			err = nil
		}
	} else {
		var b []byte
		if b, err = json.Marshal(l); err == nil {
			err = files.WriteFile(file, b, 0o600)
		}
	}
	if err != nil {
		a.hub.Say("accepts", "keeping what is accepted on the hub: "+err.Error())
		return
	}
	a.accepts = l.Digest
}
