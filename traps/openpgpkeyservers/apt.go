package openpgpkeyservers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/keyservers"
	"fettle/host/format/openpgp"
)

// aptKeys looks at each file of keys that apt would use.
func aptKeys(ctx context.Context, h *host.Host, r *trap.Report, a *asker) (any bool) {
	closed := unread{about: "apt's keys"}
	defer func() { any = closed.tell(r) || any }()
	files := keyservers.AptFiles(ctx, h, closed.add)
	unlisted := closed.first
	var v verifier
	for _, file := range files {
		b, err := file.Read(ctx, h)
		switch {
		case err != nil:
			closed.add(err)
		case len(b) > 0:
			if !any { // without a key of apt's nobody asks for packages
				if v, err = verifierOf(ctx, h); err != nil {
					r.Unknown("apt's keys", err)
					return true
				}
			}
			any = true
			v.doubt = nil
			if !file.SignedBy { // every repository may name its own
				v.doubt = unlisted
			}
			old, err := ofOldRelease(ctx, h, v, file, b, files)
			v.doubt = cmp.Or(v.doubt, err)
			if old {
				r.NotApplicable(file.Path, "holds keys of an older release of Debian, and those of a newer one are beside it")
				continue
			}
			aptFile(ctx, h, r, a, v, file, b)
		}
	}
	return any
}

// ofOldRelease tells of a file that debian-archive-keyring keeps for an older
// release and whose keys expired, where a newer release's did not; the error is why such may be there.
func ofOldRelease(
	ctx context.Context,
	h *host.Host,
	v verifier,
	f keyservers.AptFile,
	b []byte,
	all []keyservers.AptFile,
) (old bool, unread error) {
	const ours = "/etc/apt/trusted.gpg.d/debian-archive-"
	good := func(b []byte) bool {
		keys, err := keysIn(b, formOf(b))
		return err != nil || slices.ContainsFunc(keys, func(k aptKey) bool { _, why := k.against(h.Now(), v); return why == "" })
	}
	if !strings.HasPrefix(f.Path, ours) || good(b) {
		return false, nil
	}
	for _, o := range all {
		if !strings.HasPrefix(o.Path, ours) {
			continue
		}
		b, err := h.ReadFile(ctx, o.Path)
		if err == nil && good(b) {
			return true, nil
		}
		unread = cmp.Or(unread, err)
	}
	return false, unread
}

// verifier is what apt has signatures verified by.
type verifier struct {
	// sqv: since apt 3.0, where it is installed; before and otherwise gpgv.
	sqv bool
	// old: apt before 3.0 gives the file that Signed-By names to gpgv as it is,
	// if nothing in its name speaks against that.
	old bool
	// named: a repository names the keys, so that it needs them.
	named bool
	// doubt is why apt may not use the file at all, or need not.
	doubt error
}

// found reports a finding of a file, if apt surely uses it.
func (v verifier) found(r *trap.Report, f trap.Finding) {
	if v.doubt != nil {
		r.Unknown(f.Subject, fmt.Errorf("%s; whether that matters is not known: %w", f.Summary, v.doubt), f.Evidence...)
		return
	}
	r.Found(f)
}

// verifierOf tells them by the packages. apt 2.9 was on the way to 3.0.
func verifierOf(ctx context.Context, h *host.Host) (v verifier, _ error) {
	apt, err := h.Package(ctx, "apt")
	if err != nil && !host.IsAbsent(err) {
		return v, err
	}
	var major, minor int
	n, _ := fmt.Sscanf(apt.Version, "%d.%d", &major, &minor)
	// The old is the more lenient, and taken where there is no version.
	v.old = n < 2 || major < 2 || major == 2 && minor < 9
	_, err = h.Package(ctx, "sqv")
	v.sqv = err == nil && !v.old
	return v, nil
}

// aptFile judges one file of keys.
func aptFile(ctx context.Context, h *host.Host, r *trap.Report, a *asker, v verifier, f keyservers.AptFile, b []byte) {
	file, form := f.Path, formOf(b)
	found := func(sev trap.Severity, detail string, format string, args ...any) {
		v.found(r, trap.Finding{Subject: file, Severity: sev, Summary: fmt.Sprintf(format, args...), Detail: trap.Lines(detail),
			Evidence: []trap.Evidence{trap.Ev(file, "%s", form)}})
	}
	if f.Inline != "" { // apt itself takes the key out
		form = openpgp.Armored
	} else if said := readable(ctx, h, r, v, f, form, found); said {
		return
	}
	if form == openpgp.Keybox {
		found(
			trap.Notice,
			"gpgv reads a keybox; apt 3.0 and later ignore it.",
			"apt will ignore this file after an upgrade of the system: it is a GnuPG keybox",
		)
		return
	}
	keys, err := keysIn(b, form)
	switch {
	case err != nil:
		r.Unknown(file, fmt.Errorf("no key could be read: %w", err))
		return
	case len(keys) == 0:
		r.Unknown(file, errors.New("no key could be read: it holds none"))
		return
	}
	v.named = f.SignedBy
	judgeKeys(r, a, v, file, keys, h.Now())
}

// readable tells whether apt reads the file at all; said is that it does not, or
// that nobody knows.
func readable(
	ctx context.Context,
	h *host.Host,
	r *trap.Report,
	v verifier,
	f keyservers.AptFile,
	form openpgp.Form,
	found func(trap.Severity, string, string, ...any),
) (said bool) {
	const user = "apt reads keys as the user _apt."
	if ignored := v.ignores(f, form); ignored != "" {
		found(trap.Warning, "Repositories that are signed with its keys fail with NO_PUBKEY.", "apt ignores this file: %s", ignored)
		return true
	}
	if st, err := h.Stat(ctx, f.Path); err == nil && st.Mode.Perm()&0o004 == 0 {
		found(trap.Warning, user, "apt ignores this file: the user _apt cannot read it")
		return true
	}
	dir, err := closedFolder(ctx, h, f.Path)
	switch {
	case err != nil:
		r.Unknown(f.Path, err)
	case dir != "":
		found(trap.Warning, user, "apt ignores this file: the user _apt cannot enter the folder %s", dir)
	}
	return err != nil || dir != ""
}

// closedFolder is the folder above a file that others may not enter: what
// mkdir makes of /etc/apt/keyrings where root's umask is 027 or 077. Folders of a sosreport
// have the mode that sos gave them, 0700.
func closedFolder(ctx context.Context, h *host.Host, file string) (string, error) {
	if h.Kind() == host.KindSosreport {
		return "", nil
	}
	for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
		st, err := h.Stat(ctx, dir)
		if err != nil {
			return "", err
		}
		if st.Mode.Perm()&0o001 == 0 {
			return dir, nil
		}
	}
	return "", nil
}

// ignores is why apt skips a file. Measured with apt 2.6.1, and 3.0.4
// with gpgv and with sqv: of a file that Signed-By names sqv takes every form
// but the keybox, and gpgv what its name says; apt 2.6 is not strict with other names, nor a keybox.
func (v verifier) ignores(f keyservers.AptFile, form openpgp.Form) string {
	switch {
	case f.SignedBy && v.sqv && (form == openpgp.Armored || form == openpgp.Binary):
		return ""
	case f.SignedBy && v.old && form == openpgp.Keybox:
		return ""
	case f.SignedBy && !v.old && form == openpgp.Armored && path.Ext(f.Path) != ".asc":
		return "it is ASCII-armored, but its name does not end in .asc"
	}
	return ignoredForm(f.Path, form)
}

// ignoredForm is why apt skips a file (apt-key's is_supported_keyring; the
// same in apt 2.9 and later).
func ignoredForm(file string, form openpgp.Form) string {
	switch {
	case form == openpgp.Keybox:
		return "it is a GnuPG keybox"
	case form == openpgp.Unknown:
		return "it contains no OpenPGP keys"
	case path.Ext(file) == ".gpg" && form == openpgp.Armored:
		return "it is ASCII-armored, but its name ends in .gpg"
	case path.Ext(file) == ".asc" && form == openpgp.Binary:
		return "it is binary, but its name ends in .asc"
	}
	return ""
}

func formOf(b []byte) openpgp.Form { return openpgp.FormOf(b[:min(len(b), 4096)]) }

// aptKey is a key with what its own signatures say.
type aptKey struct {
	openpgp.Key
	name    string
	revoked bool
	expires time.Time // of the newest signature by itself; zero: never
	newest  time.Time
	hash    openpgp.Hash
}

// keysIn reads the keys of a file. Nothing is verified: the file is root's.
func keysIn(b []byte, form openpgp.Form) (out []aptKey, _ error) {
	if form == openpgp.Armored {
		var err error
		if b, err = openpgp.Dearmor(bytes.NewReader(b), keyservers.MaxKeyring); err != nil && len(b) == 0 {
			return nil, err
		}
	}
	packets := openpgp.NewReader(bytes.NewReader(b), 0)
	inSubkey := false
	for {
		p, err := packets.Next()
		if err != nil {
			return out, nil // the end
		}
		switch p.Tag {
		case openpgp.TagPublicKey:
			if k, err := openpgp.ParseKey(p.Body); err == nil {
				out, inSubkey = append(out, aptKey{Key: k}), false
			}
		case openpgp.TagPublicSubkey:
			inSubkey = true
		}
		if len(out) == 0 || inSubkey {
			continue
		}
		k := &out[len(out)-1]
		if p.Tag == openpgp.TagUserID && k.name == "" {
			k.name = strings.ToValidUTF8(string(p.Body[:min(len(p.Body), 120)]), "?")
		}
		if p.Tag == openpgp.TagSignature {
			k.readSelfSignature(p.Body)
		}
	}
}

// readSelfSignature takes in what a key says of itself.
func (k *aptKey) readSelfSignature(body []byte) {
	s, err := openpgp.ParseSignature(body)
	if err != nil || s.Issuer != k.Fingerprint.ID() {
		return
	}
	switch {
	case s.Type == openpgp.KeyRevocation:
		k.revoked = true
	case (s.Type == openpgp.DirectKey || s.Type.Certifies()) && !s.Created.Before(k.newest):
		k.newest, k.hash, k.expires = s.Created, s.Hash, time.Time{}
		if s.KeyLifetime > 0 {
			k.expires = k.Created.Add(s.KeyLifetime)
		}
	}
}

// sha1Ends is when sqv stops counting SHA-1 for apt
// (/usr/share/apt/default-sequoia.config of apt 3.0).
var sha1Ends = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)

// against is what speaks against a key, and how bad that is.
func (k *aptKey) against(now time.Time, v verifier) (trap.Severity, string) {
	switch {
	case k.revoked:
		return trap.Warning, "was revoked"
	case !k.expires.IsZero() && !k.expires.After(now):
		return trap.Warning, "expired on " + k.expires.UTC().Format(time.DateOnly)
	case k.Short():
		return trap.Warning, "is weak: " + k.Kind()
	case k.hash.Weak() && v.sqv && now.After(sha1Ends):
		return trap.Warning, "is bound to its name by " + k.hash.String() + ", which apt refuses since February 2026"
	case k.hash.Weak() && v.named: // gpgv takes it; an upgrade may bring sqv
		return trap.Notice, "is bound to its name by " + k.hash.String() + ", which apt with sqv refuses from 2026 on"
	}
	return trap.Notice, ""
}

// judgeKeys reports on a file. A file in which any key serves is not accused
// of an old one beside it that expired: archives keep those for old releases.
func judgeKeys(r *trap.Report, a *asker, v verifier, file string, keys []aptKey, now time.Time) {
	var evidence []trap.Evidence
	var bad []string
	worst, usable := trap.Notice, false
	for _, k := range keys {
		sev, why := k.against(now, v)
		text := fmt.Sprintf("%s, %s, %q", k.Fingerprint, k.Kind(), k.name)
		if why == "" {
			usable = true
		} else {
			bad = append(bad, fmt.Sprintf("%016X %s", k.Fingerprint.ID(), why))
			worst = max(worst, sev)
			text += ": " + why
		}
		evidence = append(evidence, trap.Ev(file, "%s", text))
	}
	if len(bad) == 0 || usable {
		r.Clear(file, "has a key that apt can use", evidence...)
		return
	}
	slices.Sort(bad)
	detail := []string{
		"A repository that is signed with it fails with EXPKEYSIG, REVKEYSIG or a warning of a weak algorithm. Its publisher has the new key.",
	}
	if a != nil {
		more, ev := a.published(keys)
		detail, evidence = append(detail, more...), append(evidence, ev...)
	}
	v.found(r, trap.Finding{Subject: file, Severity: worst, Evidence: evidence, Detail: trap.Lines(detail...),
		Summary: "apt trusts no key here that is still good: " + strings.Join(bad[:min(len(bad), 4)], "; ")})
}
