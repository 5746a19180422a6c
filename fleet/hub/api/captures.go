package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"fettle/fleet/hub/store"
	"fettle/host/archive"
	"fettle/host/capture"
)

// MaxCapture is how large an attached capture may be, packed; that of a large host has
// a few MiB.
const MaxCapture = 16 << 20

// captureLimits bound what looking at one may cost: somebody may attach what somebody
// else sent.
var captureLimits = archive.Limits{
	Entries:  100_000,
	Manifest: 16 << 20,
	Names:    16 << 20,
	Spooled:  256 << 20,
	Unpacked: 512 << 20,
	Window:   16 << 20,
}

// AttachQuery says whose capture it is.
type AttachQuery struct {
	ID string `json:"id" need:"yes" about:"the host's id, or its name if no other host has that"`
}

// looking is held while a capture is looked at: one at a time, for its memory.
var looking sync.Mutex

// Attach keeps a capture of a host, if it is one that fettle capture --redact wrote.
func (a *API) Attach(ctx context.Context, q AttachQuery, content []byte) (Done, error) {
	h, err := a.hostBy(ctx, q.ID)
	if err != nil {
		return Done{}, err
	}
	c, err := examine(ctx, content)
	if err != nil {
		return Done{}, err
	}
	by := who(ctx)
	c.At, c.Who = a.Now(), by.Name
	err = a.DB.Attach(
		ctx,
		h.Agent,
		c,
		content,
		store.Audit{
			At:      a.Now(),
			Who:     by.Name,
			From:    by.From,
			What:    "attach a capture",
			On:      h.Agent,
			Details: fmt.Sprintf("%d bytes, SHA-256 %s", c.Size, c.SHA256),
		},
	)
	return Done{err == nil}, err
}

// examine opens a capture as it would be opened to be used.
func examine(ctx context.Context, content []byte) (c store.Capture, err error) {
	switch {
	case len(content) > MaxCapture:
		return c, bad("the file is larger than %d MiB", MaxCapture>>20)
	case !bytes.HasPrefix(content, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return c, bad("not a capture: expected the file that fettle capture --redact writes, a tar archive compressed with zstd")
	}
	looking.Lock()
	defer looking.Unlock()
	f, err := os.CreateTemp("", "fettle-attach-")
	if err != nil {
		return c, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return c, err
	}
	src, err := capture.OpenWithin(ctx, f.Name(), captureLimits)
	if err != nil {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, bad("not a capture: %s", said(err.Error(), f.Name()))
	}
	defer src.Close()
	m := src.Manifest()
	if !m.Redacted {
		return c, bad("this capture has names, addresses and secrets in it: attach one that fettle capture --redact made")
	}
	sum := sha256.Sum256(content)
	return store.Capture{
		Taken:  m.Identity.Time,
		Fettle: clip(strings.ReplaceAll(m.Fettle, "\x00", "")),
		Size:   int64(len(content)),
		SHA256: hex.EncodeToString(sum[:]),
	}, nil
}

// said is why a capture was refused, without the name of the copy that was looked at.
func said(why, file string) string {
	const most = 300
	why = strings.ReplaceAll(strings.ReplaceAll(why, file+": ", ""), file, "the file")
	return strings.ToValidUTF8(why[:min(len(why), most)], "?")
}

// CaptureQuery names a capture.
type CaptureQuery struct {
	ID int64 `json:"id" need:"yes" about:"the capture's number"`
}

// Capture hands a capture out.
func (a *API) Capture(ctx context.Context, q CaptureQuery) (File, error) {
	by := who(ctx)
	if err := a.mayCapture(ctx, q.ID); err != nil {
		return File{}, err
	}
	c, content, agent, err := a.DB.CaptureContent(
		ctx,
		q.ID,
		store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "download a capture", Details: fmt.Sprintf("capture %d", q.ID)},
	)
	return File{Name: fmt.Sprintf("%s-%s.tar.zst", agent, c.At.UTC().Format("20060102-150405")), Type: zstdType, Content: content}, err
}

// mayCapture reports whether whoever asks sees the host of a capture.
func (a *API) mayCapture(ctx context.Context, id int64) error {
	agent, err := a.DB.CaptureHost(ctx, id)
	if err == nil {
		_, err = a.host(ctx, agent)
	}
	return err
}

// Detach drops a capture.
func (a *API) Detach(ctx context.Context, q CaptureQuery) (Done, error) {
	by := who(ctx)
	if err := a.mayCapture(ctx, q.ID); err != nil {
		return Done{}, err
	}
	err := a.DB.Detach(
		ctx,
		q.ID,
		store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "remove a capture", Details: fmt.Sprintf("capture %d", q.ID)},
	)
	return Done{err == nil}, err
}
