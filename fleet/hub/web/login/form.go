package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"time"
)

// MaxBody is how much a form or a request of the API may send; MaxUpload is it where an
// operator sends a file.
const (
	MaxBody   = 1 << 20
	MaxUpload = 17 << 20
)

// formToken is what a page's forms carry: made of a cookie that only this
// browser has, and of who is logged in. The hub keeps nothing for it, so that
// many hubs may answer one browser.
func (g *Gate) formToken(w http.ResponseWriter, r *http.Request, v Visitor) string {
	c, err := r.Cookie(g.cookie(formCookie))
	if err != nil || len(c.Value) < 26 || len(c.Value) > 100 {
		c = &http.Cookie{Value: rand.Text()}
		if !changes(r) { // a form whose cookie is gone is refused anyway
			g.setCookie(w, formCookie, c.Value, 365*24*time.Hour)
		}
	}
	mac := hmac.New(sha256.New, []byte(c.Value))
	mac.Write([]byte(v.How + "\x00" + v.Name + "\x00" + v.session))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// formIsOurs refuses what was not sent by a form of this hub's own pages.
func (g *Gate) formIsOurs(w http.ResponseWriter, r *http.Request, v Visitor) bool {
	most := int64(MaxBody)
	if v.Operator() && g.cfg.Uploads != nil && g.cfg.Uploads(r) {
		most = MaxUpload
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	given := r.Header.Get("X-Fettle-Form")
	if given == "" {
		err := r.ParseForm()
		if err == nil && most == MaxUpload {
			err = r.ParseMultipartForm(MaxUpload) // in memory, all of it
		}
		if err != nil {
			http.Error(w, "the form is too large or cannot be read", http.StatusBadRequest)
			return false
		}
		given = r.PostForm.Get("form")
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(v.Form)) != 1 {
		http.Error(w, "this form is not of your present session: go back, load the page again, and send it once more", http.StatusForbidden)
		return false
	}
	return true
}

// confine sets the headers that keep a page to what the hub itself serves.
// Findings come from foreign machines: even if one slipped through as HTML,
// nothing in it would run, load or be sent.
func confine(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	h.Set("Cache-Control", "no-store")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
