//! What scripts say of transactions and of promised data.

use std::collections::VecDeque;

use farcall_base::{ChannelId, ConnectionId, ErrorKind, TransactionId};
use farcall_services::transactions::{Asker, Message};
use farcall_wire::{
    Failure, Promise, Reply, Request, TransactionBegin, TransactionEnd, TransactionReply,
    TransactionRequest,
};

use super::other::data_ids;
use crate::state::Action;

/// `begin-graph GRAPH`, `await`, `promise TYPE DATA…`, `break DATA…`: what a client asks.
/// Nothing for anything else.
pub fn request(what: &str, words: &[&str]) -> Option<Request> {
    let id = TransactionId(*b"golden-transact.");
    Some(match what {
        "begin-graph" => {
            let graph = words[0].as_bytes().to_vec();
            let begin = TransactionBegin { id, graph, keep_us: None };
            Request::Transaction(TransactionRequest::Begin(Box::new(begin)))
        }
        "await" => Request::Transaction(TransactionRequest::Await(id)),
        "promise" => {
            let promise = |data| Promise { data, kind: words[0].to_owned() };
            Request::Promise(data_ids(&words[1..]).into_iter().map(promise).collect(), 0)
        }
        "break" => {
            let error = farcall_base::Error::new(ErrorKind::Cancelled, "make data", "not wanted");
            Request::Break(data_ids(words), Failure::from(&error))
        }
        _ => return None,
    })
}

/// What the plugin is asked and told, in words; who asked waits for an answer.
pub fn acted(questions: &mut VecDeque<(ConnectionId, ChannelId)>, action: &Action) -> String {
    match action {
        Action::Transact { asker, request } => {
            questions.push_back((asker.connection, asker.channel));
            asked(asker, request)
        }
        Action::TellTransactions(news) => told(news),
        _ => String::new(),
    }
}

fn asked(asker: &Asker, request: &TransactionRequest) -> String {
    let what = match request {
        TransactionRequest::Begin(begin) => {
            format!("begin {}", String::from_utf8_lossy(&begin.graph))
        }
        other => format!("{other:?}"),
    };
    format!("{} of {} asks: {what}", asker.principal, asker.connection)
}

fn told(news: &Message) -> String {
    match news {
        Message::Left { connection, may_return } => {
            format!("{connection} left, may return {may_return:?}")
        }
        Message::Back { connection, .. } => format!("its client is back on {connection}"),
        Message::Asked { .. } => "asked".to_owned(),
        Message::Pull { pull, .. } => format!("pull {}", pull.data),
    }
}

/// The plugin's answer.
pub fn answer(words: &[&str]) -> farcall_base::Result<Reply> {
    match words {
        ["done"] => Ok(Reply::Done),
        ["over"] => Ok(Reply::Transaction(TransactionReply::Over(TransactionEnd::default()))),
        _ => {
            let message = "the graph is wrong";
            Err(farcall_base::Error::new(ErrorKind::InvalidArgument, "take a transaction", message))
        }
    }
}
