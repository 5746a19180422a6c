package openpgpkeyservers

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/keyservers"
	"fettle/host/format/openpgp"
	"fettle/internal/lazy"
)

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	b, err := h.ReadFile(ctx, f.Subject)
	if err != nil {
		return remedy.Plan{}, err
	}
	files := keyservers.AptFiles(ctx, h, func(error) {})
	if i := slices.IndexFunc(files, func(k keyservers.AptFile) bool { return k.Path == f.Subject }); i >= 0 && files[i].Inline != "" {
		return remedy.Plan{}, remedy.Refuse(
			"only its owner can renew a key: get the repository's current key from its publisher, compare its fingerprint, and put it into "+
				"Signed-By of %s",
			f.Subject,
		)
	} else if i >= 0 {
		return planKeys(ctx, h, f.Subject, b)
	}
	keyserver := f.Chosen("keyserver")
	if !keyserverExpr().MatchString(keyserver) {
		return remedy.Plan{}, remedy.Refuse("%q is not a keyserver: expected hkps://HOST or hkp://HOST[:PORT]", keyserver)
	}
	var gone facts
	if len(f.Facts) > 0 {
		if gone, err = trap.FactsIn[facts](f); err != nil {
			return remedy.Plan{}, err
		}
	}
	changed := keyservers.Alive(string(b), keyserver, gone.Gone...)
	if changed == string(b) {
		return remedy.Plan{}, remedy.Refuse("%s no longer names a dead keyserver", f.Subject)
	}
	return remedy.Plan{
		Title: "use " + keyserver + " in " + f.Subject,
		Steps: []step.Step{step.File{Path: f.Subject, Content: []byte(changed), Was: b}},
		Notes: []string{
			"A running dirmngr rereads its configuration after: gpgconf --kill dirmngr",
			"keys.openpgp.org is a keyserver too, but has neither user IDs without their owners' consent nor signatures by others.",
		},
	}, nil
}

// planKeys makes a file of keys one that apt reads. It can renew no key.
func planKeys(ctx context.Context, h *host.Host, file string, b []byte) (remedy.Plan, error) {
	form := formOf(b)
	packets, why := b, ignoredForm(file, form)
	switch {
	case why == "":
		st, err := h.Stat(ctx, file)
		if err != nil {
			return remedy.Plan{}, err
		}
		if st.Mode.Perm()&0o004 == 0 {
			return remedy.Plan{Title: "let apt read " + file,
				Steps: []step.Step{step.Perm{Path: file, Mode: int(st.Mode.Perm() | 0o444), UID: -1, GID: -1}}}, nil
		}
		dir, err := closedFolder(ctx, h, file)
		if err != nil {
			return remedy.Plan{}, err
		}
		if dir != "" {
			return openFolder(ctx, h, file, dir)
		}
		return remedy.Plan{}, remedy.Refuse(
			"only its owner can renew a key: get the repository's current key from its publisher, over HTTPS or as a package, compare its "+
				"fingerprint, and put it in place of %s",
			file,
		)
	case form == openpgp.Armored:
		var err error
		if packets, err = openpgp.Dearmor(bytes.NewReader(b), keyservers.MaxKeyring); err != nil {
			return remedy.Plan{}, remedy.Refuse("%s is damaged: %v", file, err)
		}
	case form == openpgp.Keybox:
		spans, err := openpgp.Keyblocks(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(spans) == 0 {
			return remedy.Plan{}, remedy.Refuse("%s is a keybox without keys, or damaged", file)
		}
		packets = nil
		for _, s := range spans {
			packets = append(packets, b[s.Start:s.Start+s.Length]...)
		}
	default:
		return remedy.Plan{}, remedy.Refuse("%s: give it a name that ends in .gpg, or fetch its repository's key again", why)
	}
	if path.Ext(file) != ".gpg" {
		return remedy.Plan{}, remedy.Refuse("%s: export its keys with gpg --armor, or name it .gpg", why)
	}
	return remedy.Plan{Title: "write " + file + " in the form that apt reads",
		Steps: []step.Step{step.File{Path: file, Content: packets, Was: b}}}, nil
}

// openFolder lets _apt into a folder of apt's own. Others may be closed for a reason.
func openFolder(ctx context.Context, h *host.Host, file, dir string) (remedy.Plan, error) {
	if !strings.HasPrefix(dir, "/etc/apt/") && !strings.HasPrefix(dir, "/usr/share/keyrings") {
		return remedy.Plan{}, remedy.Refuse("move %s to /etc/apt/keyrings, and name it there in Signed-By: %s is closed to others", file, dir)
	}
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return remedy.Plan{}, err
	}
	return remedy.Plan{Title: "let apt into " + dir,
		Steps: []step.Step{step.Perm{Path: dir, Mode: int(st.Mode.Perm() | 0o055), UID: -1, GID: -1}}}, nil
}

var keyserverExpr = lazy.Regexp(`^(?:hkps?|https?)://[a-z0-9.-]+(?::[0-9]{1,5})?$`)
