//! The loop around the screen: windows and keys come in, the screen is drawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use stackclock_sampler::{Live, LiveEnd, Progress};

use super::figures::Figures;
use super::screen;
use super::view::{Choice, Listed};
use crate::error::{Error, Exit, SignalError, TerminalError};
use crate::signals;

/// Keys are answered, and windows shown, within this.
const PATIENCE: Duration = Duration::from_millis(50);

/// What keys mean at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Commands.
    #[default]
    Watching,
    /// Text of the filter.
    Filtering,
    /// Anything closes the help.
    Helping,
}

/// Whether figures go on changing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flow {
    /// With every window.
    #[default]
    Running,
    /// The user wants to read; windows wait.
    Paused,
    /// The targets have ended.
    Ended,
}

/// Everything the screen shows.
#[derive(Debug)]
pub struct State {
    /// The figures.
    pub figures: Figures,
    /// What is shown of them.
    pub choice: Choice,
    /// What keys mean.
    pub mode: Mode,
    /// Whether they go on.
    pub flow: Flow,
    /// How the recording is going.
    pub progress: Option<Progress>,
}

/// Draws until the user quits.
pub fn show(live: Live, figures: Figures) -> Result<Exit, Error> {
    let stop = signals::finish_on_interrupt().map_err(SignalError)?;
    let state = State {
        figures,
        choice: Choice::default(),
        mode: Mode::default(),
        flow: Flow::default(),
        progress: None,
    };
    let drawn = run(live, state, &stop);
    // Also where drawing failed: the shell wants its terminal back.
    ratatui::restore();
    drawn
}

fn run(mut live: Live, mut state: State, stop: &Arc<AtomicBool>) -> Result<Exit, Error> {
    let mut terminal = ratatui::try_init().map_err(TerminalError)?;
    while !stop.load(Ordering::Relaxed) {
        terminal.draw(|frame| screen::draw(frame, &state)).map_err(TerminalError)?;
        if event::poll(PATIENCE).map_err(TerminalError)?
            && let Event::Key(key) = event::read().map_err(TerminalError)?
            && key.kind != KeyEventKind::Release
            && state.press(key) == After::Quit
        {
            break;
        }
        state.take_in(&mut live);
    }
    super::end(live)
}

/// What follows a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    GoOn,
    Quit,
}

impl State {
    /// Takes in what has been recorded since.
    fn take_in(&mut self, live: &mut Live) {
        while self.flow == Flow::Running {
            match live.next(Duration::ZERO) {
                Ok(window) => {
                    self.figures.absorb(window.profile);
                    self.progress = Some(window.progress);
                }
                Err(LiveEnd::NotYet) => return,
                Err(LiveEnd::Over) => self.flow = Flow::Ended,
            }
        }
    }

    fn press(&mut self, key: KeyEvent) -> After {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return After::Quit;
        }
        match self.mode {
            Mode::Watching => return self.command(key.code),
            Mode::Filtering => self.edit(key.code),
            Mode::Helping => self.mode = Mode::Watching,
        }
        After::GoOn
    }

    fn command(&mut self, key: KeyCode) -> After {
        match key {
            KeyCode::Char('q') => return After::Quit,
            KeyCode::Char('s') => self.choice.order = self.choice.order.next(),
            KeyCode::Char('t') => {
                self.choice.listed = match self.choice.listed {
                    Listed::Functions => Listed::Threads,
                    Listed::Threads => Listed::Functions,
                }
            }
            KeyCode::Char('f' | '/') => self.mode = Mode::Filtering,
            KeyCode::Char('p') => {
                self.flow = match self.flow {
                    Flow::Running => Flow::Paused,
                    Flow::Paused => Flow::Running,
                    Flow::Ended => Flow::Ended,
                }
            }
            KeyCode::Char('?' | 'h') => self.mode = Mode::Helping,
            KeyCode::Esc => self.choice.filter.clear(),
            _ => {}
        }
        After::GoOn
    }

    fn edit(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.mode = Mode::Watching,
            KeyCode::Esc => {
                self.choice.filter.clear();
                self.mode = Mode::Watching;
            }
            KeyCode::Backspace => {
                self.choice.filter.pop();
            }
            KeyCode::Char(letter) => self.choice.filter.push(letter),
            _ => {}
        }
    }
}
