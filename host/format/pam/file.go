package pam

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/accounts"
)

// File is what is known of a user's file of one-time codes without reading
// it: the content is a secret, and fettle's checks never look at it.
type File struct {
	Path  string
	State FileState
	// Why says what the module refuses, or what could not be looked at.
	Why  string
	Info host.Info
	Err  error
	// Frozen says why the module cannot write to it, which it must to strike
	// out used codes.
	Frozen string
	// FrozenErr: nobody could look whether it can.
	FrozenErr error
}

// fileMax is the largest file that the module reads, in bytes.
const fileMax = 64 << 10

// LookFile looks at a user's file as pam_google_authenticator's
// open_secret_file does: mode, owner, kind and size.
func LookFile(ctx context.Context, h *host.Host, db *accounts.DB, r *Rule, u *User) File {
	f := File{Path: TOTPPath(r, u)}
	owner, who := u.UID, u.Name
	if v, ok := r.Value("user"); ok {
		if n, err := strconv.ParseUint(v, 10, 31); err == nil {
			owner, who = uint32(n), "user ID "+v
		} else if o, ok := db.User(v); ok {
			owner, who = o.UID, v
		} else {
			f.State, f.Why = FileRefused, "user="+v+" names nobody"
			return f
		}
	}
	if !strings.HasPrefix(f.Path, "/") {
		f.State, f.Why = FileRefused, "its place "+f.Path+" is not absolute"
		return f
	}
	st, err := h.Stat(ctx, f.Path)
	if host.IsAbsent(err) {
		f.State, f.Why = FileAbsent, "is not there"
		return f
	}
	if err != nil {
		f.Err, f.Why = err, host.Reason(err)
		return f
	}
	f.Info = st
	allowed := fs.FileMode(0o600)
	if v, ok := r.Value("allowed_perm"); ok {
		n, err := strconv.ParseUint(v, 8, 12)
		if err != nil || n == 0 {
			f.State, f.Why = FileRefused, "allowed_perm="+v+" is no mode"
			return f
		}
		allowed = fs.FileMode(n)
	}
	mode := st.Mode.Perm()
	for bit, m := range map[fs.FileMode]fs.FileMode{fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if st.Mode&bit != 0 {
			mode |= m
		}
	}
	switch {
	case !st.Mode.IsRegular():
		f.Why = "is not a regular file"
	case mode&^allowed != 0:
		f.Why = fmt.Sprintf("has mode %04o, and the module takes no more than %04o", mode, allowed)
	case st.UID != owner && !r.Arg("no_strict_owner"):
		f.Why = fmt.Sprintf("belongs to %s and must belong to %s", db.UserName(st.UID), who)
	case st.Size < 1 || st.Size > fileMax:
		f.Why = fmt.Sprintf("has %d bytes, and the module reads 1 to %d", st.Size, fileMax)
	case mode&0o400 == 0 && owner != 0:
		f.Why = fmt.Sprintf("has mode %04o, which keeps its owner from reading it", mode)
	default:
		f.State = FileUsable
		f.frozen(ctx, h, owner)
		return f
	}
	f.State = FileRefused
	return f
}

// frozen reports whether the module can replace the file: it writes another one
// beside it and renames.
func (f *File) frozen(ctx context.Context, h *host.Host, owner uint32) {
	dir := path.Dir(f.Path)
	st, err := h.Stat(ctx, dir)
	if err != nil {
		f.FrozenErr = err
	} else if owner != 0 {
		perm := st.Mode.Perm()
		if st.UID != owner && perm&0o030 != 0o030 && perm&0o003 != 0o003 { // to replace a file takes both w and x
			f.Frozen = fmt.Sprintf("its folder %s belongs to user ID %d, and the module cannot write there", dir, st.UID)
			return
		}
	}
	fss, err := h.Filesystems(ctx)
	if err != nil {
		if !errors.Is(err, host.ErrNotRunning) {
			f.FrozenErr = err
		}
		return
	}
	best := -1
	for i, m := range fss {
		in := m.Mount == "/" || dir == m.Mount || strings.HasPrefix(dir, strings.TrimSuffix(m.Mount, "/")+"/")
		if in && (best < 0 || len(m.Mount) >= len(fss[best].Mount)) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	for o := range strings.SplitSeq(fss[best].Options, ",") {
		if o == "ro" {
			f.Frozen = "it is on a file system that is mounted read-only (" + fss[best].Mount + ")"
		}
	}
}
