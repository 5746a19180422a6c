// Package keypath is the verb keypath: signature paths between OpenPGP keys.
package keypath

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fettle/tools/keypath"
)

// Given is what the verb needs of the program that it is part of.
type Given struct {
	Stdout, Stderr io.Writer
	// Usagef makes an error of wrong use or unreadable input, Failf of what was
	// tried and failed.
	Usagef, Failf func(format string, args ...any) error
}

// options are the flags.
type options struct {
	keyrings []string
	disjoint int
	longest  int
	trust    []string
	allow    []string
	at       string
	whyNot   bool
	network  bool
	servers  []string
	fetch    int
	cache    string
	format   string
	output   string
}

// verb is one run.
type verb struct {
	Given
	options
	ctx context.Context
}

// New is the verb.
func New(g Given) *cobra.Command {
	v := &verb{Given: g}
	c := &cobra.Command{
		Use:   "keypath FROM... TO",
		Short: "Find signature paths between OpenPGP keys",
		Long: `Finds chains of signatures that lead from one OpenPGP key to another: FROM
signed a key, which signed another, and so on to TO. FROM and TO are user IDs or
parts of them, email addresses, key IDs, fingerprints, or files with one key.

Only signatures that count are used: verified, made by a live key over a live
user ID, neither expired nor revoked, not with MD5 or SHA-1, and by keys of at
least 2048 bits. Without --keyring, the keys of gpg and sq are used.

A path says who vouches for whom. It is worth what each signer on it is worth
to you; several paths that share no key in between (--disjoint) are worth more.

Exit status:
  0  path found, or --why-not explained
  2  usage error, no such key, or no path
  3  failed`,
		Example: `  fettle keypath --keyring debian-keyring.gpg 93sam@debian.org bdale@gag.com
  fettle keypath --disjoint 5 --format svg -o paths.svg me@example.org her.asc
  fettle keypath --trust alice@example.org=2 --trust bob@example.org TO
  fettle keypath --network --why-not me@example.org someone@example.net`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.ctx = cmd.Context()
			return v.paths(args)
		},
	}
	v.commonFlags(c)
	f := c.Flags()
	f.IntVar(&v.disjoint, "disjoint", 1, "show up to `N` paths that share no key in between")
	f.IntVar(&v.longest, "max-length", keypath.DefaultMaxLength, "only paths of at most `N` signatures")
	f.StringArrayVar(&v.trust, "trust", nil, "start at `KEY`, or KEY=DEPTH: with paths of at most DEPTH signatures; may be repeated")
	f.BoolVar(&v.whyNot, "why-not", false, "show the nearest path, and why its signatures do not count")
	f.BoolVar(&v.network, "network", false, "fetch keys that a path may need from keyservers and from the domains of addresses (WKD)")
	f.StringArrayVar(
		&v.servers,
		"keyserver",
		nil,
		"with --network: `URL` of a keyserver, as gpg has it; may be repeated (default hkps://keyserver.ubuntu.com)",
	)
	f.IntVar(&v.fetch, "fetch", 200, "with --network: ask keyservers at most `N` times")
	v.formatFlag(c, "text", "json", "svg", "dot")
	f.StringVarP(&v.output, "output", "o", "", "write to `FILE`")
	c.AddCommand(v.statsCmd())
	return c
}

func (v *verb) commonFlags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringArrayVar(
		&v.keyrings,
		"keyring",
		nil,
		"`FILE` or folder with keys: gpg --export, ASCII-armored, pubring.kbx, sq's store, a dump; may be repeated",
	)
	f.StringSliceVar(&v.allow, "allow", nil, "also accept `WHAT`: sha1 (signatures with SHA-1), short-keys (under 2048 bits)")
	f.StringVar(&v.at, "at", "", "judge keys and signatures as on this `DATE` (YYYY-MM-DD) instead of now")
	f.StringVar(&v.cache, "cache", "", "keep indexes and fetched keys in `DIR` (default ~/.cache/fettle/keypath)")
}

func (v *verb) formatFlag(c *cobra.Command, formats ...string) {
	c.Flags().StringVar(&v.format, "format", formats[0], "output `FORMAT`: "+join(formats))
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	c.PreRunE = func(*cobra.Command, []string) error {
		for _, f := range formats {
			if f == v.format {
				return nil
			}
		}
		return v.Usagef("--format %s: expected %s", v.format, join(formats))
	}
}

// policy is what the flags say of which signatures count.
func (v *verb) policy() (keypath.Policy, error) {
	p := keypath.Policy{Now: time.Now()}
	for _, w := range v.allow {
		switch w {
		case "sha1":
			p.AllowSHA1 = true
		case "short-keys":
			p.AllowShort = true
		default:
			return p, v.Usagef("--allow %s: expected sha1 or short-keys", w)
		}
	}
	if v.at != "" {
		at, err := time.Parse(time.DateOnly, v.at)
		if err != nil || at.Before(time.Unix(0, 0)) || at.Year() > 2105 {
			return p, v.Usagef("--at %s: expected a date such as 2024-12-31, from 1970 to 2105", v.at)
		}
		p.Now = at
	}
	return p, nil
}

func (v *verb) paths(args []string) error {
	if v.disjoint < 1 || v.disjoint > 1000 {
		return v.Usagef("--disjoint %d: expected 1 to 1000", v.disjoint)
	}
	if v.longest < 1 || v.longest > 1000 {
		return v.Usagef("--max-length %d: expected 1 to 1000", v.longest)
	}
	if v.fetch < 1 || v.fetch > 10_000 {
		return v.Usagef("--fetch %d: expected 1 to 10000", v.fetch)
	}
	if len(args) < 2 && len(v.trust) == 0 {
		return v.Usagef("expected two keys: keypath FROM TO, or keypath --trust KEY TO")
	}
	w, files, err := v.open(args)
	if err != nil {
		return err
	}
	defer func() { w.Close() }()
	var ask question
	if v.network {
		if w, ask, err = v.overNetwork(w, args, files); err != nil {
			return err
		}
	} else if ask, err = v.question(w, args, files); err != nil {
		return err
	}
	if v.whyNot {
		return v.explain(w, ask)
	}
	paths, err := v.find(w, ask)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return v.noPath(w, ask)
	}
	return v.write(answer{w, ask, paths})
}

// find finds the paths that are asked for.
func (v *verb) find(w *keypath.Web, ask question) ([]keypath.Path, error) {
	var paths []keypath.Path
	var err error
	if v.disjoint > 1 {
		paths, err = w.Disjoint(v.ctx, ask.Query, v.disjoint)
	} else {
		var p keypath.Path
		if p, err = w.Shortest(v.ctx, ask.Query); p != nil {
			paths = []keypath.Path{p}
		}
	}
	if err != nil {
		return nil, v.Failf("looking for paths: %w", err)
	}
	return paths, nil
}
