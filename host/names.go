package host

import (
	"context"
	"encoding/json"
	"strings"
)

// Prefixes of the tables that hold Names.
const (
	tableAddresses = "dns host "
	tableServices  = "dns srv "
)

// AddressTable and ServiceTable are questions to DNS as a Source is asked them.
func AddressTable(name string) Table { return Table(tableAddresses + name) }
func ServiceTable(name string) Table { return Table(tableServices + name) }

// DNS is the reverse of AddressTable and ServiceTable.
func (t Table) DNS() (name string, services, ok bool) {
	if name, ok = strings.CutPrefix(string(t), tableServices); !ok {
		name, ok = strings.CutPrefix(string(t), tableAddresses)
		return name, false, ok && len(name) <= maxName
	}
	return name, true, len(name) <= maxName
}

const maxName = 255 // RFC 1035, section 2.3.4

// Names is what the host's resolver knows of a name.
type Names struct {
	Absent    bool      `json:"absent,omitempty"` // there is no such name, or nothing of this kind
	Addresses []string  `json:"addresses,omitempty"`
	Services  []Service `json:"services,omitempty"` // the one to be asked first is first
}

// Service is where a service of a domain is (RFC 2782). Without a target, there
// is none.
type Service struct {
	Target string `json:"target"` // without the last dot
	Port   uint16 `json:"port"`
}

// Addresses asks DNS, and /etc/hosts before it, for a name's addresses. Checks
// call it only where trap.MayTalk says so. A resolver that does not answer, or says
// that it cannot, is an error. Not collected: a capture that was made without it.
func (h *Host) Addresses(ctx context.Context, name string) (Names, error) {
	return h.dns(ctx, AddressTable(name), name)
}

// Services asks for the SRV records of a name, as Addresses does.
func (h *Host) Services(ctx context.Context, name string) (Names, error) {
	return h.dns(ctx, ServiceTable(name), name)
}

func (h *Host) dns(ctx context.Context, t Table, name string) (Names, error) {
	b, err := remember(ctx, &h.cache, "table:"+string(t), func() ([]byte, error) {
		b, err := h.src.Table(ctx, t)
		return b, wrap("asking DNS for", name, err)
	})
	var n Names
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	return n, err
}
