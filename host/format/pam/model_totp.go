package pam

import "strings"

// FileState is what a user's file of one-time codes is to the module.
type FileState int

const (
	FileUnknown FileState = iota // nobody could look
	FileAbsent                   // there is none, or no folder of it
	FileUsable                   // the module takes codes
	FileRefused                  // the module refuses it: mode, owner, form; or cannot write it
)

// totpArgs are the arguments that need no look: pam_google_authenticator.c, parse_args.
var totpArgs = []string{"no_strict_owner", "debug", "try_first_pass", "use_first_pass", "forward_pass", "noskewadj",
	"no_increment_hotp", "nullok", "echo-verification-code", "echo_verification_code", "grace_period"}

// BadTOTPArg is the first argument that makes the module refuse everybody; ok
// is false when there is none.
func BadTOTPArg(r *Rule) (arg string, ok bool) {
next:
	for _, a := range r.Args {
		for _, p := range []string{"secret=", "authtok_prompt=", "user=", "allowed_perm=", "grace_period="} {
			if strings.HasPrefix(a, p) {
				continue next
			}
		}
		for _, w := range totpArgs {
			if a == w {
				continue next
			}
		}
		return a, true
	}
	return "", false
}

// TOTPPath is where the module looks for a user's file.
func TOTPPath(r *Rule, u *User) string {
	spec, ok := r.Value("secret")
	if !ok {
		spec = "~/.google_authenticator"
	}
	if rest, ok := strings.CutPrefix(spec, "~"); ok {
		spec = u.Home + rest
	}
	return strings.NewReplacer("${HOME}", u.Home, "${USER}", u.Name, "/~", "/"+u.Home).Replace(spec)
}

// totpModel follows pam_google_authenticator.c: the file first, then the
// question.
func totpModel(w *walker, r *Rule, tok token) []outcome {
	if w.facility != Auth {
		return either(tok, ModuleUnknown) // the module has no such function
	}
	if _, bad := BadTOTPArg(r); bad {
		return either(tok, AuthErr)
	}
	switch w.sim.file(r, w.user) {
	case FileAbsent:
		if r.Arg("nullok") {
			return either(tok, Ignore)
		}
		return either(tok, AuthErr)
	case FileRefused:
		return either(tok, AuthErr)
	case FileUnknown:
		w.asked = true
		outs := append(w.totpAnswer(r, tok), outcome{AuthErr, tok})
		if r.Arg("nullok") {
			outs = append(outs, outcome{Ignore, tok})
		}
		return outs
	}
	w.asked = true
	return w.totpAnswer(r, tok)
}

// totpAnswer is the answer where the file can be used.
func (w *walker) totpAnswer(r *Rule, tok token) []outcome {
	forward := r.Arg("forward_pass")
	first := r.Arg("try_first_pass") || r.Arg("use_first_pass")
	accept := func(t token) []outcome {
		if forward {
			if t = token(strings.TrimSuffix(string(t), "C")); t == "" {
				t = "X" // an empty password is handed on
			}
			return either(t, Success)
		}
		return either(tok, Success)
	}
	if first && tok.endsInCode() {
		return accept(tok)
	}
	if r.Arg("use_first_pass") {
		return either(tok, AuthErr)
	}
	want := token("C")
	if forward {
		want = "PC"
	}
	t := w.ask(want, r.Arg("echo_verification_code") || r.Arg("echo-verification-code"))
	if forward && t.endsInCode() || t == "C" {
		return accept(t)
	}
	return either(tok, AuthErr)
}
