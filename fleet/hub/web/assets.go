package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// asset is a file that pages load. Its address has a hash of its content, so
// that browsers keep it for good and never use an old one.
type asset struct {
	content []byte
	kind    string
	href    string
}

func readAssets() (map[string]asset, error) {
	out := map[string]asset{}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		out[e.Name()] = asset{b, kindOf(e.Name()), "/assets/" + e.Name() + "?" + hex.EncodeToString(sum[:6])}
	}
	return out, nil
}

func kindOf(name string) string {
	if k := mime.TypeByExtension(path.Ext(name)); k != "" {
		return k
	}
	return "text/plain; charset=utf-8"
}

func (s *site) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Write(a.content)
}
