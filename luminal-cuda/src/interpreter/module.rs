//! Modules and kernels: the declarations of a PTX text.

use super::decode::{Decoder, Names};
use super::instruction::{File, Instruction, Op, Register, Type};
use super::token::{Cursor, Token, tokens};
use luminal_core::error::{Error, Result};
use std::collections::HashMap;

/// A parsed PTX text.
#[derive(Clone, Debug)]
pub struct Module {
    kernels: Vec<Kernel>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As declared.
    pub name: String,
    /// Size in bytes: 4 or 8.
    pub bytes: usize,
    pub(super) offset: usize,
}

/// An entry of a module.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) instructions: Vec<Instruction>,
    /// Names of registers by file, for messages.
    pub(super) words: Vec<String>,
    pub(super) longs: Vec<String>,
    pub(super) predicates: Vec<String>,
    /// Declared bytes of shared memory.
    pub(super) shared: usize,
    /// An `.extern .shared` array follows the declared ones.
    pub(super) dynamic_shared: bool,
    pub(super) max_threads: Option<usize>,
}

/// A shared array: its name and where it starts.
#[derive(Clone, Debug)]
struct SharedArray {
    name: String,
    align: usize,
    /// None for `.extern`.
    bytes: Option<usize>,
}

impl Module {
    /// Reads a PTX text. Anything outside the supported subset is an error with its line.
    pub fn parse(text: &str) -> Result<Module> {
        let tokens = tokens(text)?;
        let mut cursor = Cursor::new(&tokens);
        let mut outside = vec![];
        let mut kernels: Vec<Kernel> = vec![];
        while !cursor.is_at_end() {
            let token = cursor.next()?;
            match token.text {
                ".version" | ".address_size" => {
                    cursor.next()?;
                }
                ".target" => {
                    cursor.next()?;
                    while cursor.accept(",") {
                        cursor.next()?;
                    }
                }
                ".extern" | ".visible" => {}
                ".shared" => outside.push(shared_array(&mut cursor)?),
                ".entry" => {
                    let kernel = Kernel::parse(&mut cursor, &outside)?;
                    if kernels.iter().any(|other| other.name == kernel.name) {
                        return Err(token.error(format_args!("two entries `{}`", kernel.name)));
                    }
                    kernels.push(kernel);
                }
                other => return Err(token.error(format_args!("`{other}` is not supported outside kernels"))),
            }
        }
        Ok(Module { kernels })
    }

    /// The entry of this name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.kernels.iter().map(|kernel| &*kernel.name).collect();
            Error::new(format!("no PTX entry `{name}`; there are: {}", names.join(", ")))
        })
    }

    /// All entries, in order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }
}

impl Kernel {
    /// Name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The bound declared with `.maxntid`.
    pub fn max_threads(&self) -> Option<usize> {
        self.max_threads
    }

    /// Number of instructions in the text.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// True for a kernel without instructions.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    fn parse(cursor: &mut Cursor, outside: &[SharedArray]) -> Result<Kernel> {
        let mut kernel = Kernel {
            name: cursor.next()?.text.to_string(),
            parameters: parameters(cursor)?,
            instructions: vec![],
            words: vec![],
            longs: vec![],
            predicates: vec![],
            shared: 0,
            dynamic_shared: false,
            max_threads: None,
        };
        while !cursor.accept("{") {
            let directive = cursor.next()?;
            if !matches!(directive.text, ".maxntid" | ".reqntid" | ".minnctapersm" | ".maxnreg") {
                return Err(directive.error(format_args!("unknown directive `{}`", directive.text)));
            }
            let mut product = cursor.number()?;
            while cursor.accept(",") {
                product *= cursor.number()?;
            }
            if matches!(directive.text, ".maxntid" | ".reqntid") {
                kernel.max_threads = Some(product);
            }
        }
        let mut names = Names::default();
        for parameter in &kernel.parameters {
            names.constants.insert(parameter.name.clone(), parameter.offset as u64);
        }
        let mut shared = outside.to_vec();
        let mut statements = vec![];
        loop {
            if cursor.accept("}") {
                break;
            }
            if cursor.peek_second() == ":" {
                let label = cursor.next()?;
                cursor.expect(":")?;
                if names.labels.insert(label.text.to_string(), statements.len()).is_some() {
                    return Err(label.error(format_args!("two labels `{}`", label.text)));
                }
                continue;
            }
            match cursor.peek() {
                ".reg" => kernel.registers(cursor, &mut names.registers)?,
                ".shared" => {
                    cursor.next()?;
                    shared.push(shared_array(cursor)?);
                }
                _ => statements.push(cursor.statement()?),
            }
        }
        kernel.place(&shared, &mut names.constants);
        let decoder = Decoder { names: &names, end: statements.len() };
        for statement in statements {
            kernel.instructions.push(decoder.instruction(statement)?);
        }
        // falling off the end returns
        kernel.instructions.push(Instruction {
            guard: None,
            op: Op::Return,
            line: cursor.line(),
            text: "end of the kernel".into(),
        });
        Ok(kernel)
    }

    /// `.reg .f32 %f<8>, %x;`
    fn registers(&mut self, cursor: &mut Cursor, names: &mut HashMap<String, Register>) -> Result<()> {
        cursor.expect(".reg")?;
        let ty = declared_type(cursor.next()?)?;
        loop {
            let name = cursor.next()?;
            if cursor.accept("<") {
                for number in 0..cursor.number()? {
                    self.register(format!("{}{number}", name.text), ty, names);
                }
                cursor.expect(">")?;
            } else {
                self.register(name.text.to_string(), ty, names);
            }
            if !cursor.accept(",") {
                return cursor.expect(";");
            }
        }
    }

    fn register(&mut self, name: String, ty: Type, names: &mut HashMap<String, Register>) {
        let file = ty.file();
        let list = match file {
            // Of 16 bits, the low half of a word.
            File::Word | File::Half => &mut self.words,
            File::Long => &mut self.longs,
            File::Predicate => &mut self.predicates,
        };
        list.push(name.clone());
        names.insert(name, Register { file, index: list.len() - 1 });
    }

    /// Gives shared arrays their offsets; the `.extern` one comes last.
    fn place(&mut self, arrays: &[SharedArray], constants: &mut HashMap<String, u64>) {
        let mut order: Vec<&SharedArray> = arrays.iter().collect();
        order.sort_by_key(|array| array.bytes.is_none());
        for array in order {
            self.shared = self.shared.next_multiple_of(array.align);
            constants.insert(array.name.clone(), self.shared as u64);
            self.shared += array.bytes.unwrap_or(0);
            self.dynamic_shared |= array.bytes.is_none();
        }
    }
}

fn declared_type(token: Token) -> Result<Type> {
    let name = token.text.strip_prefix('.');
    name.and_then(Type::from_name).ok_or_else(|| token.error(format_args!("unknown type `{}`", token.text)))
}

/// `(.param .u64 a, .param .u32 n)`
fn parameters(cursor: &mut Cursor) -> Result<Vec<Parameter>> {
    let mut parameters = vec![];
    let mut offset = 0usize;
    if !cursor.accept("(") || cursor.accept(")") {
        return Ok(parameters);
    }
    loop {
        cursor.expect(".param")?;
        let ty = declared_type(cursor.next()?)?;
        let name = cursor.next()?;
        let bytes = ty.bytes();
        if bytes < 4 {
            return Err(name.error(format_args!("parameter `{}` must have 4 or 8 bytes", name.text)));
        }
        offset = offset.next_multiple_of(bytes);
        parameters.push(Parameter { name: name.text.to_string(), bytes, offset });
        offset += bytes;
        if !cursor.accept(",") {
            cursor.expect(")")?;
            return Ok(parameters);
        }
    }
}

/// `.align 16 .b8 name[1024];`, after `.shared`
fn shared_array(cursor: &mut Cursor) -> Result<SharedArray> {
    let align = if cursor.accept(".align") { Some(cursor.number()?) } else { None };
    let element = declared_type(cursor.next()?)?.bytes();
    let name = cursor.next()?.text.to_string();
    let mut bytes = Some(element);
    if cursor.accept("[") {
        bytes = if cursor.peek() == "]" { None } else { Some(cursor.number()? * element) };
        cursor.expect("]")?;
    }
    cursor.expect(";")?;
    Ok(SharedArray { name, align: align.unwrap_or(element).max(1), bytes })
}
