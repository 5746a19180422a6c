package openpgpkeyservers

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/conf/keyservers"
	"fettle/conf/openpgp"
	"fettle/host"
	"fettle/trap"
)

// aptKeys looks at each file of keys that apt would use.
func aptKeys(ctx context.Context, h *host.Host, r *trap.Report, a *asker) (any bool) {
	closed := unread{about: "apt's keys"}
	defer func() { any = closed.tell(r) || any }()
	for _, file := range keyservers.AptFiles(ctx, h, closed.add) {
		b, err := h.ReadFile(ctx, file)
		switch {
		case err != nil:
			closed.add(err)
		case len(b) > 0:
			any = true
			aptFile(ctx, h, r, a, file, b)
		}
	}
	return any
}

// aptFile judges one file of keys.
func aptFile(ctx context.Context, h *host.Host, r *trap.Report, a *asker, file string, b []byte) {
	form := formOf(b)
	found := func(sev trap.Severity, detail string, format string, args ...any) {
		r.Found(trap.Finding{Subject: file, Severity: sev, Summary: fmt.Sprintf(format, args...), Detail: trap.Lines(detail),
			Evidence: []trap.Evidence{trap.Ev(file, "%s", form)}})
	}
	if ignored := ignoredForm(file, form); ignored != "" {
		found(trap.Warning, "Repositories that are signed with its keys fail with NO_PUBKEY.", "apt ignores this file: %s", ignored)
		return
	}
	if st, err := h.Stat(ctx, file); err == nil && st.Mode.Perm()&0o004 == 0 {
		found(trap.Warning, "apt reads keys as the user _apt.", "apt ignores this file: the user _apt cannot read it")
		return
	}
	keys, err := keysIn(b, form)
	if err != nil || len(keys) == 0 {
		r.Unknown(file, fmt.Errorf("no key could be read: %v", err))
		return
	}
	judgeKeys(r, a, file, keys, h.Now())
}

// ignoredForm is why apt passes over a file (apt-key's is_supported_keyring; the
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
			k.heed(p.Body)
		}
	}
}

// heed takes in what a key says of itself.
func (k *aptKey) heed(body []byte) {
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

// against is what speaks against a key, and how bad that is.
func (k *aptKey) against(now time.Time) (trap.Severity, string) {
	switch {
	case k.revoked:
		return trap.Warning, "was revoked"
	case !k.expires.IsZero() && !k.expires.After(now):
		return trap.Warning, "expired on " + k.expires.UTC().Format(time.DateOnly)
	case k.Short():
		return trap.Warning, "is weak: " + k.Kind()
	case k.hash.Weak():
		return trap.Notice, "is bound to its name by " + k.hash.String() + ", which apt refuses from 2026 on"
	}
	return trap.Notice, ""
}

// judgeKeys reports on a file. A file in which any key serves is not accused
// of an old one beside it that expired: archives keep those for old releases.
func judgeKeys(r *trap.Report, a *asker, file string, keys []aptKey, now time.Time) {
	var evidence []trap.Evidence
	var bad []string
	worst, usable := trap.Notice, false
	for _, k := range keys {
		sev, why := k.against(now)
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
	detail := []string{"A repository that is signed with it fails with EXPKEYSIG, REVKEYSIG or a warning of a weak algorithm. Its publisher has the new key."}
	if a != nil {
		more, ev := a.published(keys)
		detail, evidence = append(detail, more...), append(evidence, ev...)
	}
	r.Found(trap.Finding{Subject: file, Severity: worst, Evidence: evidence, Detail: trap.Lines(detail...),
		Summary: "apt trusts no key here that is still good: " + strings.Join(bad[:min(len(bad), 4)], "; ")})
}
