package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"fettle/fleet/hub/api"
)

// attachPath is where the form with a capture goes.
const attachPath = "/attach"

// uploads tells the requests that may be as large as a capture.
func uploads(r *http.Request) bool {
	return r.URL.Path == attachPath || strings.HasPrefix(r.URL.Path, "/api/v1/hosts/") && strings.HasSuffix(r.URL.Path, "/captures")
}

// attach keeps a capture that a form sent.
func (s *site) attach(w http.ResponseWriter, r *http.Request) {
	if r.MultipartForm == nil {
		s.problem(w, r, &api.BadRequest{Said: "the form has no file"})
		return
	}
	defer r.MultipartForm.RemoveAll()
	host := r.PostForm.Get("host")
	var content []byte
	f, _, err := r.FormFile("capture")
	if err == nil {
		content, err = io.ReadAll(f)
		f.Close()
	}
	if err != nil || len(content) == 0 {
		s.problem(w, r, &api.BadRequest{Said: "choose the file of a capture"})
		return
	}
	q, err := api.Read[api.AttachQuery](url.Values{"id": {host}})
	if err == nil {
		_, err = s.api.Attach(acting(r), q, content)
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.done(w, r, hostPage(host), "The capture is attached.")
}

// detach removes a capture.
func (s *site) detach(w http.ResponseWriter, r *http.Request) {
	q, err := api.Read[api.CaptureQuery](url.Values{"id": {r.PostForm.Get("capture")}})
	if err == nil {
		_, err = s.api.Detach(acting(r), q)
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.done(w, r, hostPage(r.PostForm.Get("host")), "The capture is removed.")
}
