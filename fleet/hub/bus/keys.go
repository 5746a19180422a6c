// Package bus sets up NATS for the hub: the embedded server, the keys and permissions of
// agents, the stream of their messages.
package bus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
)

// keyFile keeps the seeds, mode 0600. Whoever has it can be any agent, and the hub.
const keyFile = "nats-keys.json"

// Keys are those of the operator, of the accounts, and the one that signs for
// agents.
type Keys struct {
	operator, system, account, signing nkeys.KeyPair
}

// seeds is the form in which keys are kept.
type seeds struct {
	Operator string `json:"operator"`
	System   string `json:"system"`
	Account  string `json:"account"`
	Signing  string `json:"signing"`
}

// kept is one key: its kind, and its place here and in the file.
type kept struct {
	kind nkeys.PrefixByte
	key  *nkeys.KeyPair
	seed *string
}

func (k *Keys) all(s *seeds) []kept {
	return []kept{{nkeys.PrefixByteOperator, &k.operator, &s.Operator}, {nkeys.PrefixByteAccount, &k.system, &s.System},
		{nkeys.PrefixByteAccount, &k.account, &s.Account}, {nkeys.PrefixByteAccount, &k.signing, &s.Signing}}
}

// must is for what fails for wrong arguments alone, not for ours: crypto/rand always has bytes (since Go 1.24),
// keys are of the kind for what they sign, and without options none can be wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// LoadKeys reads the keys of a state folder, and makes them the first time.
func LoadKeys(dir string) (*Keys, error) {
	file := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return makeKeys(file)
	}
	if err != nil {
		return nil, err
	}
	k, s := &Keys{}, seeds{}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, one := range k.all(&s) {
		if *one.key, err = nkeys.FromSeed([]byte(*one.seed)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if nkeys.Prefix(public(*one.key)) != one.kind {
			return nil, fmt.Errorf("%s: a key of another kind than its name says", file)
		}
	}
	return k, nil
}

// NewSigning gives a hub another key to sign with: the credentials of all agents, and all
// invitations, end.
func NewSigning(dir string) error {
	file := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s seeds
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.Signing = string(must(must(nkeys.CreateAccount()).Seed()))
	return renameio.WriteFile(file, must(json.Marshal(s)), 0o600)
}

func makeKeys(file string) (*Keys, error) {
	k, s := &Keys{}, seeds{}
	for _, one := range k.all(&s) {
		*one.key = must(nkeys.CreatePair(one.kind))
		*one.seed = string(must((*one.key).Seed()))
	}
	return k, renameio.WriteFile(file, must(json.Marshal(s)), 0o600)
}

func public(k nkeys.KeyPair) string { return must(k.PublicKey()) }

// Secret is a key for what hubs must agree upon among each other, such as
// challenges.
func (k *Keys) Secret() []byte { return must(k.signing.Seed()) }

// operatorJWT and accountJWT are what a server is configured with.
func (k *Keys) operatorClaims() *jwt.OperatorClaims {
	c := jwt.NewOperatorClaims(public(k.operator))
	c.Name = "fettle"
	c.SystemAccount = public(k.system)
	return c
}

// accountClaims is the account in which all is, less the keys that are banned:
// theirs are the credentials from before a time.
func (k *Keys) accountClaims(banned map[string]time.Time) *jwt.AccountClaims {
	c := jwt.NewAccountClaims(public(k.account))
	c.Name = "fettle"
	c.SigningKeys.Add(public(k.signing))
	c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: 4, Consumer: 16}
	for key, at := range banned {
		c.RevokeAt(key, at)
	}
	return c
}

// limits are those of whatever is no hub.
func limits(subs int64) jwt.Limits {
	return jwt.Limits{NatsLimits: jwt.NatsLimits{Subs: subs, Data: jwt.NoLimit, Payload: message.MaxPacked + 4<<10}}
}

// AgentJWT admits an agent: it may publish as itself, and hear what is for it.
func (k *Keys) AgentJWT(agent, key string) (string, error) {
	c := jwt.NewUserClaims(key)
	c.Name = agent
	c.IssuerAccount = public(k.account)
	c.Limits = limits(4)
	c.Pub.Allow.Add(message.From(agent, key) + ".*")
	c.Sub.Allow.Add(message.ToAll, message.To(agent, "*"))
	return c.Encode(k.signing)
}

// JoinJWT lets anybody who has it ask to be admitted, and nothing else, until
// it expires.
func (k *Keys) JoinJWT(expires time.Time) (string, error) {
	c := jwt.NewUserClaims(public(must(nkeys.CreateUser())))
	c.Name = "join"
	c.IssuerAccount = public(k.account)
	c.Limits = limits(2)
	c.BearerToken = true
	if !expires.IsZero() {
		c.Expires = expires.Unix()
	}
	c.Pub.Allow.Add(message.Join)
	c.Sub.Allow.Add(message.JoinInbox + ".>")
	return c.Encode(k.signing)
}

// ServerConfig is what belongs into the configuration of nats-server where the
// hub uses a cluster of others.
func (k *Keys) ServerConfig() string {
	return fmt.Sprintf(
		"operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n  %s: %s\n  %s: %s\n}\n",
		must(k.operatorClaims().Encode(k.operator)),
		public(k.system),
		public(k.account),
		must(k.accountClaims(nil).Encode(k.operator)),
		public(k.system),
		must(k.systemClaims().Encode(k.operator)),
	)
}

func (k *Keys) systemClaims() *jwt.AccountClaims {
	c := jwt.NewAccountClaims(public(k.system))
	c.Name = "SYS"
	return c
}
