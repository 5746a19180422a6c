package pam

import "strconv"

// Code is what a module, and in the end a stack, returns (_pam_types.h).
type Code int

const (
	Success         Code = 0
	OpenErr         Code = 1
	SymbolErr       Code = 2
	ServiceErr      Code = 3
	SystemErr       Code = 4
	BufErr          Code = 5
	PermDenied      Code = 6
	AuthErr         Code = 7
	CredInsuff      Code = 8
	AuthinfoUnavail Code = 9
	UserUnknown     Code = 10
	MaxTries        Code = 11
	NewAuthtokReqd  Code = 12
	AcctExpired     Code = 13
	SessionErr      Code = 14
	CredUnavail     Code = 15
	CredExpired     Code = 16
	CredErr         Code = 17
	NoModuleData    Code = 18
	ConvErr         Code = 19
	AuthtokErr      Code = 20
	Ignore          Code = 25
	Abort           Code = 26
	AuthtokExpired  Code = 27
	ModuleUnknown   Code = 28
	Incomplete      Code = 31

	codes = 32 // _PAM_RETURN_VALUES
)

// codeNames are the words of controls, in libpam's order (pam_tokens.h).
var codeNames = [codes]string{
	"success", "open_err", "symbol_err", "service_err", "system_err", "buf_err", "perm_denied", "auth_err",
	"cred_insufficient", "authinfo_unavail", "user_unknown", "maxtries", "new_authtok_reqd", "acct_expired",
	"session_err", "cred_unavail", "cred_expired", "cred_err", "no_module_data", "conv_err", "authtok_err",
	"authtok_recover_err", "authtok_lock_busy", "authtok_disable_aging", "try_again", "ignore", "abort",
	"authtok_expired", "module_unknown", "bad_item", "conv_again", "incomplete",
}

func (c Code) String() string {
	if c >= 0 && c < codes {
		return codeNames[c]
	}
	return "code " + strconv.Itoa(int(c))
}

// Action is what a code leads to; a positive one skips that many lines.
type Action int

const (
	IgnoreIt Action = 0
	OK       Action = -1
	Done     Action = -2
	Bad      Action = -3
	Die      Action = -4
	Reset    Action = -5
	undef    Action = -6
)

var actionNames = []string{"ignore", "ok", "done", "bad", "die", "reset"}

func (a Action) String() string {
	if a > 0 {
		return "skip " + strconv.Itoa(int(a))
	}
	return actionNames[-a]
}

// Actions says for each code what to do.
type Actions [codes]Action

// fill gives every code that nothing is said of yet the action a.
func (t *Actions) fill(a Action) {
	for i := range t {
		if t[i] == undef {
			t[i] = a
		}
	}
}

// control turns a control into its table; why tells what is wrong with it.
// The plain words are tables as in _pam_parse_conf_file.
func control(word string) (t Actions, why string) {
	for i := range t {
		t[i] = undef
	}
	plain := func(ok, rest Action) {
		t[Success], t[NewAuthtokReqd] = ok, ok
		t.fill(rest)
	}
	switch lower(word) {
	case "required":
		t[Ignore] = IgnoreIt
		plain(OK, Bad)
	case "requisite":
		t[Ignore] = IgnoreIt
		plain(OK, Die)
	case "optional":
		plain(OK, IgnoreIt)
	case "sufficient":
		plain(Done, IgnoreIt)
	default:
		if why = t.parse(word); why != "" {
			for i := range t {
				t[i] = Bad
			}
		}
		t.fill(Bad)
	}
	return t, why
}
