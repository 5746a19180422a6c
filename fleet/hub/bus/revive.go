package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// roomToRevive is how much the disk must take before JetStream is started again, in
// bytes: what waits is flushed then, and the next full disk is to be some time away.
const roomToRevive = 1 << 20

// reviveEach bounds how often that is tried: trouble that a start does not end must not
// keep those out that there is none for.
const reviveEach = 20 * time.Second

// Trouble is why JetStream takes no messages, or nil.
func (s *Server) Trouble() error {
	var w answered
	s.HandleHealthz(&w, &http.Request{URL: &url.URL{RawQuery: "details=true"}})
	return troubles(w.b.Bytes())
}

// troubles are those of an answer about the server's health.
func troubles(b []byte) error {
	var h natsserver.HealthStatus
	if err := json.Unmarshal(b, &h); err != nil {
		return fmt.Errorf("the server's health: %w", err)
	}
	var all []error
	for _, e := range h.Errors {
		all = append(all, errors.New(e.Error))
	}
	return errors.Join(all...)
}

// Revive starts JetStream again where it is in trouble. After a full disk it refuses
// messages for good (filestore.go, setWriteErr) or is off altogether. It is false where
// there was no trouble; with an error there still is.
func (s *Server) Revive() (bool, error) {
	s.mend.Lock()
	defer s.mend.Unlock()
	why := s.Trouble()
	if why == nil {
		return false, nil
	}
	if err := s.room(); err != nil {
		return true, errors.Join(why, err)
	}
	if time.Since(s.revived) < reviveEach {
		return true, why
	}
	s.revived = time.Now()
	if err := s.ShutdownJetStream(); err != nil {
		return true, err
	}
	c := s.js
	return true, s.EnableJetStream(&c)
}

// room reports whether the disk takes anything.
func (s *Server) room() error {
	f, err := os.CreateTemp(s.js.StoreDir, ".room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, roomToRevive))
	return errors.Join(err, f.Sync(), f.Close())
}

// answered keeps the body of an answer.
type answered struct{ b bytes.Buffer }

func (a *answered) Header() http.Header         { return http.Header{} }
func (a *answered) WriteHeader(int)             {}
func (a *answered) Write(p []byte) (int, error) { return a.b.Write(p) }
