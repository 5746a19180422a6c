package web

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// packed is a tar archive of members, packed by zstd.
func packed(t testing.TB, members ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m[0], Mode: 0o600, Size: int64(len(m[1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const manifest = `{"format":"fettle-capture","version":1,"fettle":"<b>9\u0000","kind":"live","name":"w1","identity":{"time":` +
	`"2026-11-20T01:02:03Z"},"redacted":true,"answers":[]}`

// withCaptures attaches some to a host.
func (w *world) withCaptures(agent string) {
	w.t.Helper()
	for n, who := range []string{"ann", "ben-of-the-night-shift@example.org"} {
		at := w.now.Add(-time.Duration(n) * 30 * time.Hour)
		if err := w.db.Attach(w.t.Context(), agent,
			store.Capture{At: at, Who: who, Taken: at.Add(-time.Hour), Fettle: "1", Size: 96_069 << (5 * n), SHA256: "x"}, []byte("x"),
			store.Audit{At: at, Who: who, What: "attach a capture", On: agent}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// upload sends a file by the form of a host's page.
func (w *world) upload(page, host string, content []byte) (int, string, http.Header) {
	w.t.Helper()
	_, body, _ := w.get(page)
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	m.WriteField("form", formField.FindStringSubmatch(body)[1])
	m.WriteField("host", host)
	if content != nil {
		f, err := m.CreateFormFile("capture", `"><script>alert(1)</script>../../x.tar.zst`)
		if err != nil {
			w.t.Fatal(err)
		}
		f.Write(content)
	}
	m.Close()
	res, err := w.client.Post(w.server.URL+"/attach", m.FormDataContentType(), &b)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(res)
}

// TestCaptures: operators attach captures to a host's page, and what is none is refused,
// whatever it does to who looks at it.
func TestCaptures(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Setenv("TMPDIR", t.TempDir())
	w := ofHosts(t, 20)
	h := w.aHost()
	page := "/host/" + h.Agent
	good := packed(t, [2]string{"manifest.json", manifest}, [2]string{"root/etc/x", "x"})
	w.login("bob")
	if code, _, _ := w.upload("/paste", h.Agent, good); code != http.StatusForbidden {
		t.Errorf("a reader attaches: %d", code)
	}
	w.send("/paste", "/logout", url.Values{})
	w.login("ann")
	many := make([][2]string, 120_001)
	for i := range many {
		many[i] = [2]string{fmt.Sprint(i), ""}
	}
	noise := make([]byte, api.MaxCapture+1)
	rand.Read(noise)
	copy(noise, []byte{0x28, 0xb5, 0x2f, 0xfd})
	bomb := packed(t, [2]string{"root/x", strings.Repeat("\x00", 600<<20)}, [2]string{"manifest.json", manifest})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for what, c := range map[string]struct {
		content []byte
		says    string
	}{
		"nothing":                 {nil, "Choose the file of a capture"},
		"an empty file":           {[]byte{}, "Choose the file of a capture"},
		"a page":                  {[]byte("<script>alert(1)</script>"), "Not a capture: expected the file"},
		"a plain tar":             {bytes.Repeat([]byte{0}, 10240), "Not a capture: expected the file"},
		"noise after zstd's sign": {noise[:1<<20], "Not a capture: "},
		"too large":               {noise, "larger than 16 MiB"},
		"cut off":                 {good[:len(good)/2], "Not a capture: "},
		"no manifest":             {packed(t, [2]string{"x", "y"}), "Not a capture: "},
		"another's manifest":      {packed(t, [2]string{"manifest.json", `{"format":"<script>"}`}), "not a capture"},
		"a manifest of a list":    {packed(t, [2]string{"manifest.json", strings.Repeat("[", 1<<20)}), "manifest.json"},
		"of a later version": {packed(t, [2]string{"manifest.json", strings.Replace(manifest, `"version":1`, `"version":2`, 1)}),
			"use a newer one"},
		"with names and secrets": {packed(t,
			[2]string{"manifest.json", strings.Replace(manifest, `"redacted":true`, `"redacted":false`, 1)}), "fettle capture --redact"},
		"a bomb":                   {bomb, "Not a capture: "},
		"a hundred thousand files": {packed(t, append(many, [2]string{"manifest.json", manifest})...), "Not a capture: "},
		"a way out of the folder": {packed(t, [2]string{"manifest.json", manifest}, [2]string{"../../../../tmp/owned", "x"}),
			"leads out of the archive"},
		"a manifest beyond measure": {packed(t, [2]string{"manifest.json", manifest + strings.Repeat(" ", 17<<20)}), "Not a capture: "},
	} {
		began := time.Now()
		code, body, _ := w.upload(page, h.Agent, c.content)
		if code != http.StatusBadRequest || !strings.Contains(body, c.says) && !(what == "too large" && strings.Contains(body, "too large")) ||
			strings.Contains(body, "<script>alert") {
			t.Errorf("%s: %d, want %q in %.2000s", what, code, c.says, body)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%s took %s", what, took)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 512<<20 {
		t.Errorf("looking at them took %d MiB", grown>>20)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if code, _, _ := w.upload(page, "nobody", good); code != http.StatusNotFound {
		t.Errorf("to a host that is not there: %d", code)
	}
	if code, _, _ := w.send(page, "/attach", url.Values{"host": {h.Agent}}); code != http.StatusBadRequest {
		t.Errorf("a form without a file: %d", code)
	}
	if _, err := os.Stat("/tmp/owned"); err == nil {
		t.Error("a member was unpacked")
	}
	w.attached(page, h.Agent, good)
}

func (w *world) attached(page, agent string, good []byte) {
	t := w.t
	if code, body, hd := w.upload(page, agent, good); code != http.StatusSeeOther || hd.Get("Location") != page {
		t.Fatalf("attach: %d %s", code, body)
	}
	_, body, _ := w.get(page)
	for _, want := range []string{"The capture is attached.", "of 2026-11-20 01:02, ", "/api/v1/captures/1\"", " by ann</div>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the host's page lacks %q", want)
		}
	}
	code, got, hd := w.get("/api/v1/captures/1")
	if code != http.StatusOK || got != string(good) || hd.Get("Content-Type") != "application/zstd" ||
		hd.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(hd.Get("Content-Disposition"), `attachment; filename="`+agent+"-2026") {
		t.Errorf("download: %d, %d bytes, %v", code, len(got), hd)
	}
	// The same by the API.
	_, form, _ := w.get("/paste")
	for what, c := range map[string]struct {
		content []byte
		form    string
		want    int
	}{
		"good": {good, formField.FindStringSubmatch(form)[1], http.StatusOK}, "forged": {good, "x", http.StatusForbidden},
		"large": {append([]byte{0x28, 0xb5, 0x2f, 0xfd}, make([]byte, api.MaxCapture)...), formField.FindStringSubmatch(form)[1],
			http.StatusBadRequest},
	} {
		req, _ := http.NewRequest(http.MethodPost, w.server.URL+"/api/v1/hosts/"+agent+"/captures", bytes.NewReader(c.content))
		req.Header.Set("X-Fettle-Form", c.form)
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if code, body, _ := w.read(res); code != c.want {
			t.Errorf("%s: %d %s", what, code, body)
		}
	}
	if code, _, _ := w.send(page, "/detach", url.Values{"host": {agent}, "capture": {"1"}}); code != http.StatusSeeOther {
		t.Errorf("remove: %d", code)
	}
	if code, _, _ := w.get("/api/v1/captures/1"); code != http.StatusNotFound {
		t.Errorf("a removed one is handed out: %d", code)
	}
	_, body, _ = w.get("/audit")
	for _, want := range []string{"attach a capture", "download a capture", "remove a capture", "SHA-256"} {
		if !strings.Contains(body, want) {
			t.Errorf("the audit log lacks %q", want)
		}
	}
	w.send("/paste", "/logout", url.Values{})
	w.login("bob")
	if code, _, _ := w.get("/api/v1/captures/2"); code != http.StatusForbidden {
		t.Errorf("a reader downloads: %d", code)
	}
	if _, body, _ := w.get(page); strings.Contains(body, "/attach") || strings.Contains(body, "Download</a>") ||
		!strings.Contains(body, "<h2>Captures</h2>") {
		t.Error("a reader's page has what operators do")
	}
}
