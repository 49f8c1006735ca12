// Drives the official Go SDK by JSON lines: a request per line on stdin, answers on stdout. The
// first request is `connect`. `list`, `call` and `read` run side by side; `cancel` ends one of them.
// Every answer carries the id of its request: any number of `progress` lines, then one of `result`,
// `error` or `cancelled`. An `asked` line shows a question that the client received; it answers with
// the next of the answers that `connect` brought.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type request struct {
	ID        int               `json:"id"`
	Op        string            `json:"op"`
	URL       string            `json:"url"`
	Key       string            `json:"key"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	Name      string            `json:"name"`
	Arguments map[string]any    `json:"arguments"`
	URI       string            `json:"uri"`
	Target    int               `json:"target"`
	Mode      string            `json:"mode"`
	Answers   struct {
		Elicitation []*mcp.ElicitResult        `json:"elicitation"`
		Sampling    []*mcp.CreateMessageResult `json:"sampling"`
	} `json:"answers"`
}

// The newest revision before the current one.
const older = "2025-11-25"

type line map[string]any

var output sync.Mutex

func emit(value line) {
	output.Lock()
	defer output.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		log.Fatal(err)
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	first := next(lines)
	if first == nil {
		log.Fatal("no connect request")
	}
	ctx := context.Background()
	session, err := connect(ctx, first)
	if err != nil {
		log.Fatal(err)
	}
	version := session.InitializeResult().ProtocolVersion
	emit(line{"id": first.ID, "result": line{"protocol_version": version}})
	cancels := map[int]context.CancelFunc{}
	for one := next(lines); one != nil; one = next(lines) {
		if one.Op == "cancel" {
			cancels[one.Target]()
			continue
		}
		running, cancel := context.WithCancel(ctx)
		cancels[one.ID] = cancel
		go answer(running, session, one)
	}
	if err := session.Close(); err != nil {
		log.Print(err)
	}
}

func next(lines *bufio.Scanner) *request {
	if !lines.Scan() {
		return nil
	}
	one := &request{}
	if err := json.Unmarshal(lines.Bytes(), one); err != nil {
		log.Fatal(err)
	}
	return one
}

func connect(ctx context.Context, to *request) (*mcp.ClientSession, error) {
	options := &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			emit(line{"event": "tools_changed"})
		},
		ProgressNotificationHandler: func(_ context.Context, got *mcp.ProgressNotificationClientRequest) {
			emit(line{"id": got.Params.ProgressToken, "progress": got.Params})
		},
	}
	if elicitation := to.Answers.Elicitation; elicitation != nil {
		options.ElicitationHandler = func(_ context.Context, got *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answerNext("elicitation/create", got.Params, &elicitation)
		}
	}
	if sampling := to.Answers.Sampling; sampling != nil {
		options.CreateMessageHandler = func(_ context.Context, got *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return answerNext("sampling/createMessage", got.Params, &sampling)
		}
	}
	session := &mcp.ClientSessionOptions{}
	if to.Mode == "legacy" {
		session.ProtocolVersion = older
	}
	client := mcp.NewClient(&mcp.Implementation{Name: to.Name, Version: "1"}, options)
	return client.Connect(ctx, transportTo(to), session)
}

// Shows a question, and takes the next answer to it.
func answerNext[Answer any](method string, params any, answers *[]*Answer) (*Answer, error) {
	emit(line{"event": "asked", "asked": line{"method": method, "params": params}})
	if len(*answers) == 0 {
		return nil, errors.New("no answer is left")
	}
	answer := (*answers)[0]
	*answers = (*answers)[1:]
	return answer, nil
}

func transportTo(to *request) mcp.Transport {
	if to.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint:   to.URL,
			HTTPClient: &http.Client{Transport: withKey(to.Key)},
		}
	}
	command := exec.Command(to.Command, to.Args...)
	command.Dir = to.Cwd
	command.Env = os.Environ()
	for name, value := range to.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: command}
}

type withKey string

func (key withKey) RoundTrip(sent *http.Request) (*http.Response, error) {
	keyed := sent.Clone(sent.Context())
	keyed.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(keyed)
}

func answer(ctx context.Context, session *mcp.ClientSession, one *request) {
	result, err := perform(ctx, session, one)
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
		emit(line{"id": one.ID, "result": result})
	case ctx.Err() != nil:
		emit(line{"id": one.ID, "cancelled": true})
	case errors.As(err, &rpc):
		emit(line{"id": one.ID, "error": line{"code": rpc.Code, "message": rpc.Message}})
	default:
		emit(line{"id": one.ID, "error": line{"code": nil, "message": err.Error()}})
	}
}

func perform(ctx context.Context, session *mcp.ClientSession, one *request) (any, error) {
	switch one.Op {
	case "list":
		tools := []*mcp.Tool{}
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			tools = append(tools, tool)
		}
		return line{"tools": tools}, nil
	case "read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: one.URI})
	default:
		params := &mcp.CallToolParams{Name: one.Name, Arguments: one.Arguments}
		params.SetProgressToken(one.ID)
		return session.CallTool(ctx, params)
	}
}
