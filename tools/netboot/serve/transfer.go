package serve

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle/internal/units"
)

// Transfer is a file that a server has open, and how far it has read it: dnsmasq
// logs files that arrived whole, and an initrd takes minutes over TFTP.
type Transfer struct {
	Name     string // its path: where the tree is linked to, not below the root
	At, Size int64
}

// Transfers are the boot loaders, kernels and initrds that a server's process has
// open (proc_pid_fd(5), proc_pid_fdinfo(5)); none of process 0.
func Transfers(pid int) []Transfer {
	dir := "/proc/" + strconv.Itoa(pid)
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return nil
	}
	var out []Transfer
	for _, fd := range fds {
		link := filepath.Join(dir, "fd", fd.Name())
		name, err := os.Readlink(link)
		if err != nil || stageOf(path.Base(name)) < loading {
			continue
		}
		st, err := os.Stat(link)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		info, err := os.ReadFile(filepath.Join(dir, "fdinfo", fd.Name()))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(info), "pos:")
		at, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 10, 64)
		if err != nil {
			continue
		}
		out = append(out, Transfer{name, at, st.Size()})
	}
	return out
}

// Under takes what is being sent now. A client that waits for a file which goes on
// being read is not stuck: which client reads it dnsmasq does not tell, so where
// two wait for one, both are given the time.
func (p *Progress) Under(open []Transfer, now time.Time) {
	moved := map[string]int64{}
	for _, t := range open {
		before, known := p.read[t.Name]
		moved[t.Name] = t.At
		if known && before == t.At {
			continue
		}
		at := stageOf(path.Base(t.Name))
		for _, c := range p.clients {
			if at < loading || at != c.stage+1 && !(c.stage < loading && at == loading) {
				continue
			}
			if c.warned, c.last = false, now; now.Sub(c.spoken) >= tellTransfer && t.Size > 0 {
				p.say(c, now, "is being sent %s: %d %% of %s", path.Base(t.Name), 100*t.At/t.Size, units.Size(t.Size))
			}
		}
	}
	p.read = moved
}

// tellTransfer is how often a transfer is told of.
const tellTransfer = 15 * time.Second
