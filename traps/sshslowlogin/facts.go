package sshslowlogin

import (
	"context"
	"fmt"
	"path"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/nameservice"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

const mainFile = sshd.Main

// facts is what all parts of the check look at. Each error is why the thing
// beside it is not known.
type facts struct {
	h       *host.Host
	sshd    *sshd.Config
	eff     *sshd.Effective
	sshdErr error

	resolver    *nameservice.Resolver
	resolverErr error
	sw          *nameservice.Switch
	swErr       error
	pam         *pam.Config
	pamErr      error
}

func gather(ctx context.Context, h *host.Host) *facts {
	f := &facts{h: h}
	if f.sshd, f.sshdErr = sshd.Read(ctx, h); f.sshdErr == nil {
		f.eff = f.sshd.For(sshd.Conn{})
	}
	f.resolver, f.resolverErr = nameservice.ReadResolver(ctx, h)
	f.sw, f.swErr = nameservice.ReadSwitch(ctx, h)
	f.pam, f.pamErr = pam.Read(ctx, h, "sshd")
	return f
}

// setting is a keyword's value for most connections, and the lines of Match
// blocks that give others another. The error says that nobody can know.
func (f *facts) setting(keyword string) (sshd.Setting, []sshd.Directive, error) {
	switch {
	case f.sshdErr != nil:
		return sshd.Setting{}, nil, f.sshdErr
	case len(f.sshd.Errors) > 0:
		return sshd.Setting{}, nil, fmt.Errorf("sshd would not start with its configuration: %w", f.sshd.Errors[0])
	case f.sshd.Unread != nil:
		return sshd.Setting{}, nil, f.sshd.Unread
	}
	s := f.eff.Get(keyword)
	if !s.Known {
		if f.sshd.VersionErr == nil {
			return s, nil, fmt.Errorf("no file sets %s, and its default is not known for %s", keyword, f.sshd.Server)
		}
		return s, nil, fmt.Errorf(
			"no file sets %s, and its default depends on the version of sshd, which is not known: %s",
			keyword,
			host.Reason(f.sshd.VersionErr),
		)
	}
	var others []sshd.Directive
	for _, d := range f.sshd.Settings(keyword) {
		if !d.Global() {
			others = append(others, d)
		}
	}
	return s, others, nil
}

// on lists evidence of all places that turn a keyword on; none: it is off.
func (f *facts) on(keyword, name string) ([]trap.Evidence, error) {
	s, others, err := f.setting(keyword)
	if err != nil {
		return nil, err
	}
	var ev []trap.Evidence
	if s.Is("yes") {
		src := s.Place.String()
		if s.Default() {
			src = "default of OpenSSH " + f.sshd.Version.String()
		}
		ev = append(ev, trap.Ev(src, "%s yes", name))
	}
	for _, d := range others {
		if len(d.Args) > 0 && strings.EqualFold(d.Args[0], "yes") {
			ev = append(ev, trap.Ev(d.Place.String(), "%s: %s yes", d.Match[len(d.Match)-1], name))
		}
	}
	return ev, nil
}

// libs are the folders in which glibc and libpam look for their modules.
var libs = []string{"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/usr/lib64", "/lib64", "/usr/lib", "/lib"}

// module tells whether a module's file is there: libnss_mdns4.so.2, or
// security/pam_mount.so. Where nobody could look everywhere, and none was
// seen, the error says so.
func (f *facts) module(ctx context.Context, name string) (bool, error) {
	var unseen error
	for _, dir := range libs {
		ok, err := f.h.Exists(ctx, path.Join(dir, name))
		if ok {
			return true, nil
		}
		if err != nil && unseen == nil {
			unseen = err
		}
	}
	return false, unseen
}
