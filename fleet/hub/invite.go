package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
)

// Inviting holds the options of fettle-hub invite.
type Inviting struct {
	Uses    int
	Life    time.Duration
	Group   string
	Labels  map[string]string
	Replace string // the agent whose place is taken
	SSH     bool   // by ssh host key
	Note    string
}

// Known is what other verbs need to know of the hub that serves: it writes that
// into its state folder.
type Known struct {
	URLs     []string `json:"urls"`
	Pin      string   `json:"pin,omitempty"`
	CA       []byte   `json:"ca,omitempty"`
	Database string   `json:"database,omitempty"`
	// Local is how this machine reaches the embedded server, whose certificate is for Name
	// where that is not the hub's own.
	Local string `json:"local,omitempty"`
	Name  string `json:"name,omitempty"`
}

const knownFile = "hub.json"

// ReadKnown reads what the hub wrote that serves from a folder.
func ReadKnown(dir string) (Known, error) {
	var k Known
	file := filepath.Join(dir, knownFile)
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return k, fmt.Errorf("%s: no hub has served from this folder yet; start fettle-hub serve first, or name its folder by --state", dir)
	}
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(b, &k); err != nil {
		return k, fmt.Errorf("%s: %w", file, err)
	}
	return k, nil
}

// Where is the database's address.
func (k *Known) Where(dir string) string {
	c := Config{Dir: dir, Database: k.Database}
	return c.Where()
}

func (h *Hub) writeKnown() error {
	k := Known{URLs: h.URLs(), Database: h.Database}
	if h.server != nil {
		k.Local = loopbackOf(h.server.Addr())
		if h.Cert != "" && len(h.Names) > 0 {
			k.Name = h.Names[0]
		}
	}
	if err := h.trust(&k); err != nil {
		return err
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(h.Dir, knownFile), b, 0o600)
}

// loopbackOf is the URL of a server of this machine, by the loopback where it listens there.
func loopbackOf(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "tls://" + net.JoinHostPort(host, port)
}

// trust says how agents know the hub.
func (h *Hub) trust(k *Known) error {
	if h.NATS == "" && h.Cert == "" {
		b, err := bus.CA(h.Dir)
		if err != nil {
			return err
		}
		der, err := first(b)
		k.Pin = join.Pin(der)
		return err
	}
	if h.CA == "" {
		return nil // an authority that every host knows
	}
	b, err := os.ReadFile(h.CA)
	if err == nil {
		k.CA, err = first(b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", h.CA, err)
	}
	return nil
}

func first(b []byte) ([]byte, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("no certificate in it")
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return block.Bytes, err
}

// Invite makes an invitation to the hub of a state folder.
func Invite(ctx context.Context, dir string, known Known, db *store.DB, in Inviting) (string, error) {
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		return "", err
	}
	i := join.Invite{URLs: known.URLs, Pin: known.Pin, CA: known.CA}
	now := time.Now()
	var expires time.Time
	if !in.SSH {
		i.Token = join.NewToken()
		expires = now.Add(in.Life)
		if err := db.AddToken(ctx, store.Token{Hash: join.Hash(i.Token), Created: now, Expires: expires, Uses: in.Uses, Group: in.Group,
			Labels: in.Labels, Agent: in.Replace, Note: in.Note}); err != nil {
			return "", err
		}
	}
	if i.JWT, err = keys.JoinJWT(expires); err != nil {
		return "", err
	}
	return i.String(), nil
}

// Rekey revokes a host's key, and makes the invitation with which it gets another.
func Rekey(ctx context.Context, dir string, known Known, db *store.DB, h *store.Host, life time.Duration) (string, error) {
	line, err := Invite(ctx, dir, known, db, Inviting{Uses: 1, Life: life, Replace: h.Agent, Group: h.Group, Note: "rekey"})
	if err != nil {
		return "", err
	}
	if err := db.Rekey(ctx, h.ID); err != nil {
		return "", err
	}
	return line, Remember(ctx, dir, db)
}

// Ask asks agents, or all for "", in the name of the hub that serves from a folder; hub.Hub.Ask is for
// that hub itself.
func Ask(dir string, known Known, agents []string, whole bool, within time.Duration) (string, error) {
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		return "", err
	}
	conf, err := known.tls(dir)
	if err != nil {
		return "", err
	}
	urls := strings.Join(known.URLs, ",")
	if known.Local != "" { // the name under which agents reach the hub may lead elsewhere from here
		urls = known.Local
		if conf == nil {
			conf = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		conf.ServerName = known.Name
	}
	nc, err := bus.ConnectTo(urls, keys, conf, nil)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	id := join.NewAgent()
	for _, agent := range agents {
		if err := bus.Ask(nc, agent, message.NewAsk(id, whole, within)); err != nil {
			return "", err
		}
	}
	return id, nil
}

// tls is how the hub's own verbs know its server.
func (k *Known) tls(dir string) (*tls.Config, error) {
	switch {
	case k.Pin != "":
		pool, err := Pool(filepath.Join(dir, bus.CAFile))
		return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, err
	case k.CA != nil:
		c, err := x509.ParseCertificate(k.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AddCert(c)
		return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
	}
	return nil, nil
}
