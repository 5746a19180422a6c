package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// namesLimit bounds one question to DNS, to all its servers.
const namesLimit = 8 * time.Second

// maxNames is how many records of an answer are kept.
const maxNames = 32

// resolver is Go's own: it reads /etc/resolv.conf and /etc/hosts, and no
// modules of the host's C library are loaded.
var resolver = &net.Resolver{PreferGo: true}

func readNames(ctx context.Context, name string, services bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, namesLimit)
	defer cancel()
	// The last dot keeps the search list of resolv.conf out.
	full := strings.TrimSuffix(name, ".") + "."
	var n Names
	var err error
	if services {
		var found []*net.SRV
		if _, found, err = resolver.LookupSRV(ctx, "", "", full); len(found) > 0 {
			err = nil // some records may be malformed
		}
		for _, s := range found[:min(len(found), maxNames)] {
			n.Services = append(n.Services, Service{strings.TrimSuffix(s.Target, "."), s.Port})
		}
	} else {
		n.Addresses, err = resolver.LookupHost(ctx, full)
		n.Addresses = n.Addresses[:min(len(n.Addresses), maxNames)]
	}
	var of *net.DNSError
	switch {
	case errors.As(err, &of) && of.IsNotFound:
		n = Names{Absent: true}
	case errors.As(err, &of) && of.IsTimeout, ctx.Err() != nil:
		return nil, fmt.Errorf("%w: no DNS server answered (over %s)", ErrTimeout, namesLimit)
	case err != nil:
		return nil, err
	}
	return json.Marshal(n)
}
