//! The agent's list of what is to do, from the results of its two sets of tools.
//!
//! `TodoWrite` tells the whole list each time. The task tools tell one task at a time, by ids that they count.

use indexmap::IndexMap;
use omniglot_schema::{Listed, TeamTask, Todo, TodoStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::Carryover;

#[derive(Debug, Default)]
pub(crate) struct Todos {
    tasks: IndexMap<String, Task>,
}

#[derive(Debug)]
struct Task {
    todo: Todo,
    /// The member of the team that has it.
    owner: Option<String>,
    /// It is from an earlier process. Outside of a team its id is what it would be if no task was ever deleted.
    guessed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TodoWrite {
    new_todos: Vec<WireTodo>,
}

#[derive(Deserialize)]
struct WireTodo {
    content: String,
    status: String,
}

#[derive(Deserialize)]
struct TaskCreate {
    task: WireTask,
}

#[derive(Deserialize)]
struct TaskList {
    tasks: Vec<WireTask>,
}

#[derive(Deserialize)]
struct WireTask {
    id: String,
    subject: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskUpdate {
    task_id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    owner: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TaskUpdated {
    status_change: Option<StatusChange>,
}

#[derive(Deserialize)]
struct StatusChange {
    from: String,
}

impl Todos {
    /// The list that an earlier process of the session has left.
    pub(crate) fn left(carryover: &Carryover) -> Self {
        let left = |todo: Todo, owner| Task { todo, owner, guessed: true };
        let of_team = carryover.team.iter().flat_map(|team| &team.tasks).map(|task| {
            let todo = Todo { text: task.text.clone(), status: task.status };
            (task.id.clone(), left(todo, task.owner.clone()))
        });
        let tasks: IndexMap<_, _> = of_team.collect();
        if !tasks.is_empty() {
            return Self { tasks };
        }
        let counted = carryover.todos.iter().zip(1_u64..);
        Self { tasks: counted.map(|(todo, id)| (id.to_string(), left(todo.clone(), None))).collect() }
    }

    /// The list as it is after a tool has succeeded, if it is one that changes it. `None` inside means empty.
    pub(crate) fn learn(
        &mut self,
        tool: &str,
        input: Option<&RawValue>,
        result: Option<&RawValue>,
    ) -> Option<Option<Listed<Todo>>> {
        match tool {
            "TodoWrite" => {
                let TodoWrite { new_todos } = typed(result)?;
                let todo = |todo: WireTodo| Todo { text: todo.content, status: status(Some(&todo.status)) };
                return Some(listed(new_todos.into_iter().map(todo).collect()));
            }
            "TaskCreate" => {
                let TaskCreate { task } = typed(result)?;
                if self.tasks.get(&task.id).is_some_and(|known| known.guessed) {
                    // The CLI counts anew: it does not know the old ones any more.
                    self.tasks.clear();
                }
                self.add(task);
            }
            "TaskList" => {
                let TaskList { tasks } = typed(result)?;
                self.tasks.clear();
                tasks.into_iter().for_each(|task| self.add(task));
            }
            "TaskUpdate" => self.update(typed(input)?, typed(result).unwrap_or_default())?,
            _ => return None,
        }
        Some(listed(self.tasks.values().map(|task| task.todo.clone()).collect()))
    }

    /// Returns the tasks with their owners.
    pub(crate) fn of_team(&self) -> Vec<TeamTask> {
        let shown = |(id, task): (&String, &Task)| TeamTask {
            id: id.clone(),
            text: task.todo.text.clone(),
            status: task.todo.status,
            owner: task.owner.clone(),
        };
        self.tasks.iter().map(shown).collect()
    }

    fn add(&mut self, task: WireTask) {
        let todo = Todo { text: task.subject, status: status(task.status.as_deref()) };
        self.tasks.insert(task.id, Task { todo, owner: task.owner, guessed: false });
    }

    /// A change of a task that is not known says nothing about the list.
    fn update(&mut self, change: TaskUpdate, done: TaskUpdated) -> Option<()> {
        let task = self.tasks.get_mut(&change.task_id)?;
        let from = done.status_change.map(|change| status(Some(&change.from)));
        if task.guessed && from.is_some_and(|from| from != task.todo.status) {
            return None;
        }
        if change.status.as_deref() == Some("deleted") {
            self.tasks.shift_remove(&change.task_id);
            return Some(());
        }
        if change.status.is_some() {
            task.todo.status = status(change.status.as_deref());
        }
        if let Some(subject) = change.subject {
            task.todo.text = subject;
        }
        if let Some(owner) = change.owner {
            task.owner = Some(owner).filter(|owner| !owner.is_empty());
        }
        Some(())
    }
}

pub(crate) fn typed<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    raw.filter(|raw| raw.get().starts_with('{')).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

fn listed(todos: Vec<Todo>) -> Option<Listed<Todo>> {
    (!todos.is_empty()).then(|| todos.into())
}

fn status(word: Option<&str>) -> TodoStatus {
    match word {
        Some("in_progress") => TodoStatus::InProgress,
        Some("completed") => TodoStatus::Completed,
        _ => TodoStatus::Pending,
    }
}
