package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"fettle/internal/asuser"
)

// rights are what the kernel asks for when a file is opened: the user and
// groups of the calling thread for files (credentials(7), setfsuid(2)).
type rights struct {
	uid, gid uint32
	groups   []uint32
}

// nobody is the group of a user whom the host's files do not have.
const nobody = 65534

// do runs f with these rights.
func (r rights) do(f func() error) error {
	err := asuser.Do(r.uid, r.gid, r.groups, f)
	if errors.Is(err, asuser.ErrRefused) {
		return fmt.Errorf("reading with the rights of user %d: %w (%v)", r.uid, ErrDenied, err)
	}
	return err
}

// members are the users and groups of a root's own files.
type members struct {
	gid    map[uint32]uint32   // user to primary group
	groups map[uint32][]uint32 // user to the groups that list his name
}

// parseMembers reads passwd(5) and group(5). What it cannot read gives no rights.
func parseMembers(passwd, group []byte) members {
	m := members{gid: map[uint32]uint32{}, groups: map[uint32][]uint32{}}
	id := func(s string) (uint32, bool) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err == nil
	}
	byName := map[string]uint32{}
	for line := range bytes.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(f) < 4 {
			continue
		}
		uid, ok1 := id(f[2])
		gid, ok2 := id(f[3])
		if _, twice := m.gid[uid]; ok1 && ok2 && !twice {
			m.gid[uid], byName[f[0]] = gid, uid
		}
	}
	for line := range bytes.Lines(group) {
		f := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(f) < 4 {
			continue
		}
		gid, ok := id(f[2])
		for name := range strings.SplitSeq(f[3], ",") {
			if uid, known := byName[name]; ok && known && !slices.Contains(m.groups[uid], gid) {
				m.groups[uid] = append(m.groups[uid], gid)
			}
		}
	}
	return m
}

// rightsOf are a user's rights as far as the host's own files tell. Where a
// root folder is another's, its files speak of other numbers.
func (t *tree) rightsOf(uid uint32) rights {
	r := rights{uid: uid, gid: nobody}
	if t.owner != 0 {
		return r
	}
	t.members.Do(func() { t.whose = parseMembers(t.accounts("/etc/passwd"), t.accounts("/etc/group")) })
	if gid, ok := t.whose.gid[uid]; ok {
		r.gid, r.groups = gid, t.whose.groups[uid]
	}
	return r
}

// accounts reads an account file; nothing where that fails.
func (t *tree) accounts(name string) []byte {
	fd, err := t.openat(name, openForReading)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > ReadLimit {
		return nil
	}
	b := make([]byte, st.Size())
	n, _ := f.Read(b)
	return b[:n]
}
