package capture

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// Write writes the capture as a .tar.zst.
func (c *Capture) Write(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	if err := c.writeTar(z); err != nil {
		z.Close()
		return err
	}
	return z.Close()
}

func (c *Capture) writeTar(w io.Writer) error {
	c.name()
	var man bytes.Buffer
	enc := json.NewEncoder(&man)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(c.Manifest); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	tw := tar.NewWriter(w)
	if err := member(tw, "manifest.json", man.Bytes(), c.Identity.Time); err != nil {
		return err
	}
	for _, a := range c.Answers {
		if a.Member != "" {
			if err := member(tw, a.Member, a.content, c.Identity.Time); err != nil {
				return err
			}
		}
	}
	return tw.Close()
}

func member(tw *tar.Writer, name string, b []byte, at time.Time) error {
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(b)), ModTime: at.Truncate(time.Second)}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(b)
	return err
}

// name gives every content its member's name.
func (c *Capture) name() {
	used := map[string]bool{}
	for i := range c.Answers {
		a := &c.Answers[i]
		a.Member = ""
		if a.Failure != nil {
			continue
		}
		n := ""
		switch a.Op {
		case OpRead:
			n = "root" + path.Clean("/"+string(a.Path))
		case OpTable:
			n = "tables/" + strings.ReplaceAll(string(a.Path), "/", "_") + ".json"
		case OpCommand:
			n = string(a.Path)
			for _, arg := range a.Args {
				n += " " + string(arg)
			}
			n = "commands/" + strings.ReplaceAll(n, "/", "%")
		default:
			continue
		}
		a.Member = unique(used, n)
	}
}

// unique keeps names that any tar and file system takes, and names each
// member once; the rest get a hash.
func unique(used map[string]bool, n string) string {
	sum := sha256.Sum256([]byte(n))
	hash := "~" + hex.EncodeToString(sum[:6])
	ok := utf8.ValidString(n) && len(n) < 1000
	for _, part := range strings.Split(n, "/") {
		ok = ok && len(part) < 200
	}
	if !ok || strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == ':' }) {
		dir, _, _ := strings.Cut(n, "/")
		n = dir + "/" + hash
	}
	// Names that differ only in case are one on some systems.
	if low := strings.ToLower(n); used[low] {
		n += hash
	}
	used[strings.ToLower(n)] = true
	return n
}
