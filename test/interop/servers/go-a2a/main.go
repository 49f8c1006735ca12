// An agent of the Go SDK of A2A, over every binding of version 1.0.
//
// Usage: program <http port> <grpc port>. Prints "ready" when it serves. What it does is chosen by the
// first word of the message.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
)

type events = iter.Seq2[a2a.Event, error]

type worker struct {
	lock       sync.Mutex
	cancelled  int
	remembered map[string]string
}

func (w *worker) Execute(ctx context.Context, call *a2asrv.ExecutorContext) events {
	return func(yield func(a2a.Event, error) bool) {
		text := call.Message.Parts[0].Text()
		if call.StoredTask != nil {
			yield(status(call, a2a.TaskStateCompleted, "you said "+text), nil)
			return
		}
		if !yield(a2a.NewSubmittedTask(call, call.Message), nil) {
			return
		}
		if !yield(status(call, a2a.TaskStateWorking, "working"), nil) {
			return
		}
		verb, rest, _ := strings.Cut(text, " ")
		w.work(ctx, call, verb, rest, yield)
	}
}

func (w *worker) Cancel(ctx context.Context, call *a2asrv.ExecutorContext) events {
	return func(yield func(a2a.Event, error) bool) {
		w.lock.Lock()
		w.cancelled++
		w.lock.Unlock()
		yield(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCanceled, nil), nil)
	}
}

func (w *worker) work(
	ctx context.Context,
	call *a2asrv.ExecutorContext,
	verb, rest string,
	yield func(a2a.Event, error) bool,
) {
	switch verb {
	case "stream":
		for index, word := range strings.Split(rest, " ") {
			update := a2a.NewArtifactUpdateEvent(call, "answer", a2a.NewTextPart(word))
			update.Append = index > 0
			if !yield(update, nil) {
				return
			}
		}
		yield(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCompleted, nil), nil)
	case "ask":
		yield(status(call, a2a.TaskStateInputRequired, "Which city?"), nil)
	case "fail":
		yield(status(call, a2a.TaskStateFailed, "no such city"), nil)
	case "hang":
		<-ctx.Done()
	default:
		yield(status(call, a2a.TaskStateCompleted, w.answer(call.ContextID, verb, rest)), nil)
	}
}

func (w *worker) answer(contextID, verb, rest string) string {
	w.lock.Lock()
	defer w.lock.Unlock()
	switch verb {
	case "remember":
		w.remembered[contextID] = rest
		return "remembered"
	case "recall":
		if known, ok := w.remembered[contextID]; ok {
			return known
		}
		return "nothing"
	default:
		return fmt.Sprint(w.cancelled)
	}
}

func status(call *a2asrv.ExecutorContext, state a2a.TaskState, said string) a2a.Event {
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, call, a2a.NewTextPart(said))
	return a2a.NewStatusUpdateEvent(call, state, message)
}

func main() {
	base, grpcAddress := "http://127.0.0.1:"+os.Args[1], "127.0.0.1:"+os.Args[2]
	card := &a2a.AgentCard{
		Name:         "go",
		Description:  "An agent of the Go SDK",
		Version:      "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: true},
		Skills:       []a2a.AgentSkill{{ID: "work", Name: "Work", Description: "Works"}},
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(grpcAddress, a2a.TransportProtocolGRPC),
		},
	}
	handler := a2asrv.NewHandler(&worker{remembered: map[string]string{}})
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	grpcListener := listen(grpcAddress)
	httpListener := listen("127.0.0.1:" + os.Args[1])
	go func() { log.Fatal(server.Serve(grpcListener)) }()
	fmt.Println("ready")
	log.Fatal(http.Serve(httpListener, mux))
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}
