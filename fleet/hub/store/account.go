package store

import (
	"errors"
	"time"
)

// ErrNone: there is no such row.
var ErrNone = errors.New("not in the hub's database")

// Role is what a user may do.
type Role string

const (
	Reader   Role = "reader"   // sees, and changes nothing
	Operator Role = "operator" // may also accept findings, ask for runs, put hosts in order
)

// ParseRole reads a role's name.
func ParseRole(s string) (Role, bool) {
	r := Role(s)
	return r, r == Reader || r == Operator
}

// User is somebody with a password of the hub's own.
type User struct {
	Name     string
	Role     Role
	Sees     Rights
	Password string // argon2id, in PHC's string form
	Created  time.Time
}

// Session is somebody logged in, or a token of the API. The secret itself is
// nowhere in the database.
type Session struct {
	Hash    string // SHA-256 of the secret, in hexadecimal
	User    string
	Role    Role
	Sees    Rights
	How     string // "password", "oidc", "token"
	Created time.Time
	Seen    time.Time // of tokens and sessions: last used, to the minute
	Expires time.Time
	Note    string // of tokens: what it is for
	// Confirmed is when OpenID Connect's provider last said what the role is.
	Confirmed time.Time
	// Password is what the user's was compared with. If it is another by now, the
	// session is not kept. It is not in the database.
	Password string
}

// Audit is one act of a user.
type Audit struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Who     string    `json:"who"`
	From    string    `json:"from"` // the address
	What    string    `json:"what"` // "log in", "accept", "ask"
	On      string    `json:"on,omitempty"`
	Details string    `json:"details,omitempty"`
}
